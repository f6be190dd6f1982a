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

// A host that crashed so often within that time is started in safe mode: with its admin listener, and without servers and sessions.
const (
	safeCrashes = 3
	safeWithin  = 10 * time.Minute
)

// maxCrashes bounds the crashes that are remembered.
const maxCrashes = 20

// crashes remembers in the state directory how the host has crashed. Being killed is no crash: it says nothing about the host, unless it was not
// even ready, as where the kernel ends it for the memory that it needs to start. Such runs count where there is none between them that was ready.
type crashes struct{ list, output, starting string }

func crashesIn(dir string) crashes {
	return crashes{filepath.Join(dir, "crashes.log"), filepath.Join(dir, "crash.txt"), filepath.Join(dir, "starting")}
}

// unready is the reason that is noted of a host that was killed before it was ready.
const unready = "killed before it was ready"

// begin notes how the last host ended, if it crashed, and has the runtime write down how this one does. Why is the reason for safe mode,
// empty for none.
func (c crashes) begin(now time.Time) (why string, err error) {
	last, err := beginning(c.output)
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
		if err := os.Rename(c.output, c.output+".last"); err != nil { // for whoever wants to know more
			return "", fmt.Errorf("state directory: %w", err)
		}
	}
	if err := c.watch(); err != nil {
		return "", err
	}
	if why = c.safe(now); why != "" { // which serves nobody, and ends as it may
		c.begun()
		return why, nil
	}
	if err := regular.Write(c.starting, nil, 0o600); err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return "", nil
}

// watch has the runtime write down how this host crashes.
func (c crashes) watch() error {
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

// begun notes that the host has ended its start, in whatever way but that of being killed.
func (c crashes) begun() { _ = os.Remove(c.starting) }

// ready notes that the host serves: it can start, whatever ended those before it.
func (c crashes) ready() {
	c.begun()
	lines := c.lines()
	if able := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasSuffix(line, " "+unready) }); len(able) < len(lines) {
		_ = c.write(able) // at worst it counts once more
	}
}

// safe is why the host is to start in safe mode, empty when it is not to.
func (c crashes) safe(now time.Time) string {
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
	return fmt.Sprintf("it crashed %d times within %s, the last time with: %s; %s has all of it; stop it and start it again to try once more", recent, safeWithin, last, c.list)
}

// note remembers a crash.
func (c crashes) note(now time.Time, reason string) error {
	lines := append(c.lines(), now.UTC().Format(time.RFC3339)+" "+reason)
	return c.write(lines[max(0, len(lines)-maxCrashes):])
}

func (c crashes) write(lines []string) error {
	if err := regular.Write(c.list, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

// forget lets the next host start as usual: somebody has stopped this one, and so has seen what there was to see.
func (c crashes) forget() { _ = os.Remove(c.list) }

func (c crashes) lines() (list []string) {
	data, _ := beginning(c.list) // what cannot be read is not counted
	for line := range bytes.Lines(data) {
		if text := strings.TrimSpace(string(line)); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// beginning is how a file begins.
func beginning(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 64 << 10
	return io.ReadAll(io.LimitReader(f, most))
}

// firstLine is what a crash begins with, short enough for a message.
func firstLine(output []byte) string {
	line, _, _ := bytes.Cut(output, []byte("\n"))
	return strings.ToValidUTF8(string(line[:min(len(line), 200)]), "?")
}
