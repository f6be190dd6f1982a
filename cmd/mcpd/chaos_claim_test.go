package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A second run on the same host is refused, and told of the first, until the first has ended. A
// run on another host is not affected.
func TestAHostIsOneRuns(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, err := claimHost(dir, "127.0.0.1:7421", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claimHost(dir, "localhost:7421", now); err == nil ||
		!strings.Contains(err.Error(), "another run is about to begin") {
		t.Errorf("before it has said its name: %v", err)
	}
	for _, name := range []string{"kill-all-children", "nothing"} {
		if err := first.setExperiment(name); err != nil {
			t.Fatal(err)
		}
		_, err = claimHost(dir, "localhost:7421", now)
		pid := strconv.Itoa(os.Getpid())
		want := name + " runs on this host, in process " + pid +
			" since 2026-01-02T03:04:05Z: wait for its end, or end it with kill -INT " + pid +
			", which heals everything first"
		var f *failure
		if !errors.As(err, &f) || f.code != exitBusy || f.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, addr := range []string{"127.0.0.1:7422", "10.1.2.3:7421", "host.example:7421",
		"[fe80::1%eth0]:7421"} {
		other, err := claimHost(dir, addr, now)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		other.release()
	}
	first.release()
	again, err := claimHost(dir, "[::1]:7421", now)
	if err != nil {
		t.Fatal(err)
	}
	again.release()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
