package sim

import (
	"bytes"
	"context"
	"flag"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

var (
	first = flag.Uint64("first", 0, "the first seed")
	seeds = flag.Uint64("seeds", 2000, "how many")
)

// Each seed is one run: the same events happen in the same order each time.
func TestASeedIsOneRun(t *testing.T) {
	sums := map[string]bool{}
	for seed := range uint64(100) {
		var a, b bytes.Buffer
		one := Run(seed, Options{Trace: &a})
		if another := Run(seed, Options{Trace: &b}); one.Sum != another.Sum {
			t.Errorf("seed %d: two runs differ:\n%s", seed, difference(a.String(), b.String()))
		}
		sums[one.Sum] = true
	}
	if len(sums) != 100 {
		t.Errorf("100 seeds are %d runs", len(sums))
	}
}

// The runs of two thousand seeds have no findings, and take less than a minute of two processors.
// The race detector makes them ten times as slow, so that it gets only a tenth of them.
func TestNothingIsFound(t *testing.T) {
	n := *seeds
	if mcptest.RaceEnabled {
		n /= 10
	}
	start, spent := time.Now(), processor(t)
	var all Result
	Each(context.Background(), *first, n, func(r Result) {
		for _, f := range r.Findings {
			t.Errorf("seed %d: %v", r.Seed, f)
		}
		all.Ends, all.Probes = all.Ends+r.Ends, all.Probes+r.Probes
		all.Steps, all.Calls, all.Faults, all.Crashes = all.Steps+r.Steps, all.Calls+r.Calls, all.Faults+
			r.Faults, all.Crashes+r.Crashes
	})
	spent = processor(t) - spent
	t.Logf(
		"%d seeds in %v, %v of processors: %d steps, %d requests, %d faults, %d crashes; a tenant "+
			"ended %d times, and was probed %d times", n, time.Since(start), spent, all.Steps, all.Calls,
		all.Faults, all.Crashes, all.Ends, all.Probes,
	)
	if all.Faults == 0 || all.Crashes == 0 || all.Calls == 0 ||
		n >= 200 && (all.Ends == 0 || all.Probes == 0) {
		t.Error("nothing happens in them")
	}
	if most := 2 * time.Minute * time.Duration(max(1, n/2000)); spent > most {
		t.Errorf("they took %v of processors, want at most %v", spent, most)
	}
}

// processor returns the CPU time that this process has used.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
