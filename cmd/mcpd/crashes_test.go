package main

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/regular"
)

// Hosts that are killed one after the other while they start lead to safe mode. A host that
// becomes ready, or says why it cannot start, breaks the sequence. A kill after that never
// counts.
func TestKilledBeforeItWasReady(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		// In runs, k is a host killed while it starts, r one that becomes ready, e one that exits by
		// itself.
		runs string
		safe bool
	}{
		"three in a row":        {"kkk", true},
		"behind some that were": {"rrkkk", true},
		"two":                   {"kk", false},
		"one was ready":         {"kkrk", false},
		"one exited":            {"kke", false},
		"all were ready":        {"rrrrr", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			begin := func() string {
				reason, err := crashLogIn(dir).begin(now)
				if err != nil {
					t.Fatal(err)
				}
				return reason
			}
			for i, run := range tt.runs {
				if reason := begin(); reason != "" {
					t.Fatalf("run %d is in safe mode: %s", i, reason)
				}
				switch run {
				case 'r':
					crashLogIn(dir).ready()
				case 'e':
					crashLogIn(dir).startEnded()
				}
			}
			for range 2 { // also when the host in safe mode was killed
				if reason := begin(); strings.Contains(reason, unready) != tt.safe {
					t.Errorf("safe mode: %q", reason)
				}
				if !tt.safe {
					break
				}
			}
			now := now.Add(safeWithin)
			if reason, err := crashLogIn(dir).begin(now); reason != "" || err != nil {
				t.Errorf("later: %q, %v", reason, err)
			}
		})
	}
}

// A pipe in the state directory, in place of a file of crashes, is refused. The host does not
// wait for it.
func TestCrashFilesThatArePipesAreRefused(t *testing.T) {
	for _, name := range []string{"crash.txt", "crashes.log", "starting"} {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { // owner: the test, which waits for the result
			_, err := crashLogIn(dir).begin(time.Now())
			done <- errors.Join(err, crashLogIn(dir).note(time.Now(), unready))
		}()
		select {
		case err := <-done:
			if !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s is waited for", name)
		}
	}
}
