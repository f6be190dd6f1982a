package client

import (
	"testing"
	"time"

	"mcpd/gateway/tenant"
)

// An action that is repeated without pause becomes less and less frequent. After a quiet while it
// is done at once again.
func TestPaceGrowsAndRecovers(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := backoff{first: time.Second, last: 5 * time.Second}
	for i, step := range []struct{ after, wait time.Duration }{
		{0, 0}, {0, 1}, {0, 2}, {0, 4}, {0, 5}, {0, 5}, {3, 2}, {9, 0}, {time.Hour / time.Second, 0},
		{0, 1}, {1, 1}, {0, 4},
	} {
		now = now.Add(step.after * time.Second)
		wait := p.next(now)
		if wait != step.wait*time.Second {
			t.Errorf("step %d waits %v, want %v", i, wait, step.wait*time.Second)
		}
		now = now.Add(wait)
		p.record(now)
	}
}

// An allowance admits its number in any window. An attempt that comes too early does not count.
func TestAllowanceSlides(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := slidingLimit{of: tenant.Intensity{Restarts: 2, Within: 10 * time.Second}}
	for i, step := range []struct {
		after time.Duration
		may   bool
	}{{0, true}, {9, true}, {0, false}, {1, false}, {1, true}, {7, false}, {1, false}, {1, true},
		{60, true}, {0, true}, {0, false}} {
		now = now.Add(step.after * time.Second)
		if got := a.take(now); got != step.may {
			t.Errorf("step %d: %t", i, got)
		}
	}
	if (&slidingLimit{}).take(now) {
		t.Error("the zero value allows one")
	}
}
