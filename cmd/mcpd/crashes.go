package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"mcpd/internal/regular"
)

// A host that has crashed safeCrashes times within safeWithin starts in safe mode: with its admin
// listener, but without servers and sessions.
const (
	safeCrashes = 3
	safeWithin  = 10 * time.Minute
)

// maxCrashes bounds the number of crashes that are remembered.
const maxCrashes = 20

// crashLog records in the state directory how the host has crashed. A host that was killed while
// serving has not crashed, because the kill says nothing about the host. A host that was killed
// before it was ready counts as crashed, for example when the kernel ends it because it needs too
// much memory to start. Such kills are forgotten once a host becomes ready.
type crashLog struct{ list, output, starting string }

func crashLogIn(dir string) crashLog {
	return crashLog{
		filepath.Join(dir, "crashes.log"), filepath.Join(dir, "crash.txt"),
		filepath.Join(dir, "starting"),
	}
}

// unready is the reason that is noted for a host that was killed before it was ready.
const unready = "killed before it was ready"

// begin notes how the previous host ended, if it crashed, and has the runtime write down a crash
// of this one. It returns the reason for safe mode, or an empty string.
func (c crashLog) begin(now time.Time) (reason string, err error) {
	last, err := readBeginning(c.output)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("state directory: %w", err)
	}
	if _, err := os.Stat(c.starting); err == nil && len(last) == 0 {
		if err := c.note(now, unready); err != nil {
			return "", err
		}
	}
	if len(last) > 0 {
		if err := c.note(now, firstLine(last)); err != nil {
			return "", err
		}
		// The full output is kept for the operator.
		if err := os.Rename(c.output, c.output+".last"); err != nil {
			return "", fmt.Errorf("state directory: %w", err)
		}
	}
	if err := c.watch(); err != nil {
		return "", err
	}
	// In safe mode the host serves no client, so a kill during its start does not count.
	if reason = c.safeModeReason(now); reason != "" {
		c.startEnded()
		return reason, nil
	}
	if err := regular.Write(c.starting, nil, 0o600); err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return "", nil
}

// watch has the runtime write a crash of this process to the output file.
func (c crashLog) watch() error {
	f, err := regular.OpenFile(c.output, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	defer f.Close() // the runtime has a descriptor of its own
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return fmt.Errorf("crash output: %w", err)
	}
	return nil
}

// startEnded notes that the start is over. Only a host that is killed while it starts does not get
// here.
func (c crashLog) startEnded() { _ = os.Remove(c.starting) }

// ready notes that the host serves. It forgets earlier kills during start, because the host
// evidently can start.
func (c crashLog) ready() {
	c.startEnded()
	lines := c.lines()
	if able := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasSuffix(line, " "+unready)
	}); len(able) < len(lines) {
		// If this fails, those kills count once more.
		_ = c.write(able)
	}
}

// safeModeReason returns the reason to start in safe mode, or an empty string.
func (c crashLog) safeModeReason(now time.Time) string {
	recent, last := 0, ""
	for _, line := range c.lines() {
		at, reason, _ := strings.Cut(line, " ")
		if t, err := time.Parse(time.RFC3339, at); err == nil && now.Sub(t).Abs() < safeWithin {
			recent++
			last = reason
		}
	}
	if recent < safeCrashes {
		return ""
	}
	return fmt.Sprintf(
		"the host crashed %d times within %s, the last time with: %s; %s lists the crashes; stop the "+
			"host and start it again to try once more", recent, safeWithin, last, c.list,
	)
}

// note records a crash.
func (c crashLog) note(now time.Time, reason string) error {
	lines := append(c.lines(), now.UTC().Format(time.RFC3339)+" "+reason)
	return c.write(lines[max(0, len(lines)-maxCrashes):])
}

func (c crashLog) write(lines []string) error {
	if err := regular.Write(c.list, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

// clear lets the next host start as usual. A user has stopped this host, and so has had the
// chance to look at it.
func (c crashLog) clear() { _ = os.Remove(c.list) }

func (c crashLog) lines() (list []string) {
	data, _ := readBeginning(c.list) // An unreadable file counts as empty.
	for line := range bytes.Lines(data) {
		if text := strings.TrimSpace(string(line)); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// readBeginning reads the first 64 KiB of a file.
func readBeginning(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 64 << 10
	return io.ReadAll(io.LimitReader(f, most))
}

// firstLine returns the first line of a crash, cut for use in a message.
func firstLine(output []byte) string {
	line, _, _ := bytes.Cut(output, []byte("\n"))
	return strings.ToValidUTF8(string(line[:min(len(line), 200)]), "?")
}
