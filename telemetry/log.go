package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// Format is the form of log lines.
type Format string

// The formats.
const (
	FormatAuto Format = "auto" // text on a terminal, JSON otherwise
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// ParseFormat parses the name of a format.
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case FormatAuto, FormatText, FormatJSON:
		return f, nil
	}
	return "", fmt.Errorf("log format %q: want auto, text or json", s)
}

// NewLogger returns the logger of a process. It writes one line for each record, with the keys
// ts, level, msg and then those of the record. The text format is for people: short times,
// colours on a terminal unless $NO_COLOR is set, and no repetitions. Every value of a record is
// cleaned.
func NewLogger(w io.Writer, f Format, level slog.Leveler) *slog.Logger {
	terminal := isTerminal(w)
	if f == FormatText || f == FormatAuto && terminal {
		return slog.New(tint.NewTextHandler(w, &tint.Options{
			Level:       level,
			TimeFormat:  "15:04:05.000",
			NoColor:     !terminal || os.Getenv("NO_COLOR") != "",
			ReplaceAttr: forPeople,
		}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level, ReplaceAttr: forMachines,
	}))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// repeatedKeys are keys that repeat, for queries, values that a line has already: the message and
// the session.
var repeatedKeys = []string{keyEvent, "session_id"}

func forPeople(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && slices.Contains(repeatedKeys, a.Key) {
		return slog.Attr{}
	}
	return cleaned(a)
}

func forMachines(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 {
		switch v := a.Value.Any().(type) {
		case time.Time:
			if a.Key == slog.TimeKey {
				return slog.String("ts", v.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
			}
		case slog.Level:
			if a.Key == slog.LevelKey {
				return slog.String(slog.LevelKey, levelName(v))
			}
		}
	}
	return cleaned(a)
}

// cleaned makes text safe to show, including the text of errors.
func cleaned(a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString {
		return slog.String(a.Key, Clean(a.Value.String(), MaxValue))
	}
	if err, ok := a.Value.Any().(error); ok && err != nil {
		return slog.String(a.Key, Clean(err.Error(), MaxValue))
	}
	if d, ok := a.Value.Any().(time.Duration); ok {
		return slog.String(a.Key, shortDuration(d))
	}
	return a
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }
