package otp

import (
	"sync"
	"testing"
)

// Each scheduled function runs once, on reused goroutines, however many are scheduled at the same
// time.
func TestRunnersRunEverythingOnce(t *testing.T) {
	r := &runners{}
	defer r.close()
	const together = 3 * maxRunners
	var all sync.WaitGroup
	counts := make([]int, together)
	for range 2 {
		gate := make(chan struct{})
		for i := range together {
			all.Add(1)
			r.Schedule(func() {
				defer all.Done()
				<-gate
				counts[i]++
			})
		}
		close(gate)
		all.Wait()
	}
	for i, n := range counts {
		if n != 2 {
			t.Fatalf("%d ran %d times", i, n)
		}
	}
}

// The number of idle goroutines is bounded, and 0 after close.
func TestRunnersAreBounded(t *testing.T) {
	r := &runners{}
	gate, all := make(chan struct{}), sync.WaitGroup{}
	for range 2 * maxRunners {
		all.Add(1)
		r.Schedule(func() { <-gate; all.Done() })
	}
	close(gate)
	all.Wait()
	if n := r.waiting(); n > maxRunners {
		t.Errorf("%d wait, want at most %d", n, maxRunners)
	}
	r.close()
	done := make(chan struct{})
	r.Schedule(func() { close(done) }) // a function scheduled after close still runs
	<-done
}
