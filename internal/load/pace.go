package load

import (
	"context"
	"time"

	"mcpd/internal/clock"
)

// pace is the arrival schedule of a run.
type pace struct {
	start time.Time
	rate  float64 // calls a second; 0: closed loop
}

// due returns when call i is due. It returns false in a closed loop, where a call is made whenever
// a worker is free.
func (p pace) due(i int) (time.Time, bool) {
	if p.rate == 0 {
		return time.Time{}, false
	}
	// Computed from the start and not from the call before, so that rounding errors do not add up.
	return p.start.Add(time.Duration(float64(i) * float64(time.Second) / p.rate)), true
}

// sleepUntil returns at t, or with the error of ctx if ctx ends first.
func sleepUntil(ctx context.Context, c clock.Clock, t time.Time) error {
	d := t.Sub(c.Now())
	if d <= 0 {
		return ctx.Err()
	}
	woken := make(chan struct{})
	timer := c.AfterFunc(d, func() { close(woken) })
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		timer.Stop()
		return ctx.Err()
	}
}
