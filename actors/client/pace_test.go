package client

import (
	"testing"
	"time"
)

// What goes on without pause is done less and less often; after a quiet while it is done at once again.
func TestPaceGrowsAndRecovers(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := pace{first: time.Second, last: 5 * time.Second}
	for i, step := range []struct{ after, wait time.Duration }{
		{0, 0}, {0, 1}, {0, 2}, {0, 4}, {0, 5}, {0, 5}, {3, 2}, {9, 0}, {time.Hour / time.Second, 0}, {0, 1}, {1, 1}, {0, 4},
	} {
		now = now.Add(step.after * time.Second)
		wait := p.next(now)
		if wait != step.wait*time.Second {
			t.Errorf("step %d waits %v, want %v", i, wait, step.wait*time.Second)
		}
		now = now.Add(wait)
		p.did(now)
	}
}
