package main

import (
	"strings"
	"testing"
	"time"
)

// Hosts that are killed while they start, one after the other, end in safe mode; one that was ready, or said why it could not start, breaks
// the row, and being killed later never counts.
func TestKilledBeforeItWasReady(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		runs string // k is killed while it starts, r when it is ready, e exits by itself
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
				why, err := crashesIn(dir).begin(now)
				if err != nil {
					t.Fatal(err)
				}
				return why
			}
			for i, run := range tt.runs {
				if why := begin(); why != "" {
					t.Fatalf("run %d is in safe mode: %s", i, why)
				}
				switch run {
				case 'r':
					crashesIn(dir).ready()
				case 'e':
					crashesIn(dir).begun()
				}
			}
			for range 2 { // also when the one in safe mode was killed
				if why := begin(); strings.Contains(why, unready) != tt.safe {
					t.Errorf("safe mode: %q", why)
				}
				if !tt.safe {
					break
				}
			}
			now := now.Add(safeWithin)
			if why, err := crashesIn(dir).begin(now); why != "" || err != nil {
				t.Errorf("later: %q, %v", why, err)
			}
		})
	}
}
