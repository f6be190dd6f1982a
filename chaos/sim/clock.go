package sim

import (
	"slices"
	"time"

	"mcpd/internal/clock"
)

var _ clock.Clock = (*World)(nil)

// timer is a function that is to be called at a time.
type timer struct {
	w    *World
	at   time.Time
	f    func()
	done bool
}

// timers are sorted by time; timers for the same time are in the order in which they were set.
type timers []*timer

// Now returns the virtual time.
func (w *World) Now() time.Time { return w.now }

// AfterFunc has f called when the time has come, between two other steps.
func (w *World) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{w: w, at: w.now.Add(max(d, 0)), f: f}
	i, _ := slices.BinarySearchFunc(w.timers, t.at, func(o *timer, at time.Time) int {
		if o.at.After(at) {
			return 1
		}
		return -1
	})
	w.timers = slices.Insert(w.timers, i, t)
	return t
}

// Stop cancels the timer.
func (t *timer) Stop() bool {
	if t.done {
		return false
	}
	t.done = true
	t.w.timers = slices.DeleteFunc(t.w.timers, func(o *timer) bool { return o == t })
	return true
}

func (t *timer) fire() {
	t.done = true
	t.f()
}

// due returns how many timers may fire now. They are the first in the list.
func (l timers) due(now time.Time) (n int) {
	for n < len(l) && !l[n].at.After(now) {
		n++
	}
	return n
}

// next returns the time of the first timer that is not due.
func (l timers) next(due int) time.Time { return l[due].at }

func (l *timers) take(i int) *timer {
	t := (*l)[i]
	*l = slices.Delete(*l, i, i+1)
	return t
}
