package quota

import (
	"sync"
	"testing"
	"time"
)

// §B5: a tenth of the first attempts may be retried, and a few calls a minute in any case.
func TestRetriesAreAShareOfWhatIsSent(t *testing.T) {
	var r Retries
	takes := func(at time.Duration) (n int) {
		for r.Take(start.Add(at)) {
			n++
		}
		return n
	}
	for i, c := range []struct {
		at   time.Duration
		sent int
		want int
	}{
		{0, 0, MinRetries}, {0, 9, 0}, {0, 1, 1}, {0, 205, 20},
		{time.Minute - 1, 5, 1}, {time.Minute, 0, MinRetries}, {time.Minute, 0, 0},
		{2 * time.Minute, 200, 20}, // the few are not added to the tenth
		{time.Hour, 100_000, MaxRetries}, {time.Hour, 0, 0},
		{0, 0, 0}, // a clock that jumps back gives no extra retries
	} {
		for range c.sent {
			r.Earn()
		}
		if got := takes(c.at); got != c.want {
			t.Errorf("step %d: %d after %d sent, want %d", i, got, c.sent, c.want)
		}
	}
}

// Connections of one server share one budget.
func TestRetriesAreShared(t *testing.T) {
	var r Retries
	r.Take(start)
	for range MinRetries - 1 {
		r.Take(start)
	}
	var all sync.WaitGroup
	taken := make([]int, 8)
	for i := range taken {
		all.Go(func() {
			for range 100 {
				r.Earn()
				if r.Take(start) {
					taken[i]++
				}
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range taken {
		sum += n
	}
	for r.Take(start) {
		sum++
	}
	if want := 8 * 100 * RetryPercent / 100; sum != want {
		t.Errorf("%d taken, want %d", sum, want)
	}
}
