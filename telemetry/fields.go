package telemetry

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"

	"mcpd/supervisor/otp"
)

// maxFrames is how many frames of a stack a log line shows. The cause is nearly always among the
// first few. The admin API shows all frames.
const maxFrames = 6

// field is a tagged field of an event's struct.
type field struct {
	index int
	key   string
	is    string // its meaning, for the documentation
}

// fieldsOf lists the tagged fields of an event's type in the order of the struct.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		if key, ok := t.Field(i).Tag.Lookup("key"); ok {
			is := t.Field(i).Tag.Get("is")
			if words, ok := reflect.Zero(t.Field(i).Type).Interface().(interface{ Means() string }); ok {
				is = words.Means()
			}
			out = append(out, field{i, key, is})
		}
	}
	return out
}

// attrs returns the fields of this kind of event, without empty ones.
func attrs(e Event) []slog.Attr {
	v := reflect.ValueOf(e)
	var out []slog.Attr
	for _, f := range fieldsOf(v.Type()) {
		out = appendAttr(out, f.key, v.Field(f.index).Interface())
	}
	return out
}

func appendAttr(out []slog.Attr, key string, value any) []slog.Attr {
	switch v := value.(type) {
	case string:
		if v != "" {
			out = append(out, slog.String(key, v))
		}
	case bool: // false is information too
		out = append(out, slog.Bool(key, v))
	case time.Duration:
		if v != 0 {
			out = append(out, slog.String(key, shortDuration(v)))
		}
	case int, uint32, uint64:
		if !reflect.ValueOf(v).IsZero() {
			out = append(out, slog.Any(key, v))
		}
	case Closing:
		out = append(out, slog.String(key, v.String()), slog.String("reason", v.Phrase()))
	case *otp.CrashReport:
		if v != nil {
			out = appendCrash(out, v)
		}
	default:
		panic(fmt.Sprintf("telemetry: field %s has type %T, which no log line can show", key, value))
	}
	return out
}

func appendCrash(out []slog.Attr, r *otp.CrashReport) []slog.Attr {
	out = appendAttr(out, "message", r.MessageKind())
	out = appendAttr(out, "waiting", r.Mailbox)
	return appendAttr(out, "stack", frames(r.PCs))
}

// frames formats a stack on one line, innermost first: "request/manager.go:88 < otp/run.go:120".
func frames(pcs []uintptr) string {
	if len(pcs) == 0 {
		return ""
	}
	var out []string
	for walk, more := runtime.CallersFrames(pcs), true; more && len(out) < maxFrames; {
		var f runtime.Frame
		f, more = walk.Next()
		if f.File == "" || strings.HasPrefix(f.Function, "runtime.") {
			continue
		}
		folder, file := filepath.Split(f.File)
		out = append(out, fmt.Sprintf("%s/%s:%d", filepath.Base(folder), file, f.Line))
	}
	return strings.Join(out, " < ")
}

// shortDuration formats a duration with the precision that a reader needs.
func shortDuration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.String()
}
