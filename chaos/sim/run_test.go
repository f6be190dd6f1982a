package sim

import (
	"bytes"
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var first = flag.Uint64("first", 0, "the first seed")

// Each seed is one run: what happens in it, and in which order, is the same whenever it is run.
func TestASeedIsOneRun(t *testing.T) {
	each(100, func(seed uint64) {
		var a, b bytes.Buffer
		if Run(seed, Options{Trace: &a}).Sum != Run(seed, Options{Trace: &b}).Sum {
			t.Errorf("seed %d: two runs differ:\n%s", seed, difference(a.String(), b.String()))
		}
	})
}

// The runs of the first seeds find nothing, and are made in a minute on two cores.
func TestNothingIsFound(t *testing.T) {
	start, n := time.Now(), uint64(2000)
	var steps, calls, faults, crashes atomic.Int64
	each(n, func(seed uint64) {
		r := Run(seed, Options{})
		for _, f := range r.Findings {
			t.Errorf("seed %d: %v", seed, f)
		}
		steps.Add(int64(r.Steps))
		calls.Add(int64(r.Calls))
		faults.Add(int64(r.Faults))
		crashes.Add(int64(r.Crashes))
	})
	t.Logf("%d seeds in %v: %d steps, %d calls, %d faults, %d crashes", n, time.Since(start), steps.Load(), calls.Load(), faults.Load(), crashes.Load())
}

// each runs the first n seeds, some at a time.
func each(n uint64, run func(seed uint64)) {
	var next atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= n {
					return
				}
				run(*first + seed)
			}
		})
	}
	all.Wait()
}
