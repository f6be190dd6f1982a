package fault

import (
	"time"

	"mcpd/internal/clock"
)

// spin computes until the fault's delay is over or the fault has ended. It never yields by itself,
// and is preempted like any loop.
func (r *Registry) spin(a *armed) {
	const rounds = 1 << 12 // some microseconds between two reads of the clock
	for until, n := r.clock.Now().Add(a.fault.Delay), uint64(1); r.clock.Now().Before(until); {
		for range rounds {
			n = n*6364136223846793005 + 1442695040888963407
		}
		a.spun.Store(n) // keeps the compiler from removing the loop
		select {
		case <-a.over:
			return
		default:
		}
	}
}

// lasting returns the sum of the values of the armed faults of a place. Each of these faults
// strikes once, when it is first asked for.
func (r *Registry) lasting(place Place, of func(Fault) float64) (sum float64) {
	for _, a := range r.list() {
		if a.fault.Point.Place == place {
			sum += of(a.fault)
			if a.struck.CompareAndSwap(0, 1) {
				r.hint(a)
			}
		}
	}
	return sum
}

// Fill returns the percentage of memory that is to be in use; 0 leaves memory alone.
func (r *Registry) Fill() float64 {
	if r.Idle() {
		return 0
	}
	return min(100, r.lasting(Memory, func(f Fault) float64 { return f.Percent }))
}

// Clock returns base with a wall clock that is off while a fault says so. As when somebody sets the
// clock of the machine, elapsed time does not change, and timers are not affected.
func (r *Registry) Clock(base clock.Clock) clock.Clock { return wallClock{base, r} }

type wallClock struct {
	clock.Clock
	faults *Registry
}

// Now implements clock.Clock.
func (h wallClock) Now() time.Time {
	now := h.Clock.Now()
	if h.faults.Idle() {
		return now
	}
	by := h.faults.lasting(WallClock, func(f Fault) float64 {
		if f.Action == Behind {
			return -f.Delay.Seconds()
		}
		return f.Delay.Seconds()
	})
	return clock.Step(now, time.Duration(by)*time.Second)
}
