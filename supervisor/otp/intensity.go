package otp

import "time"

// window counts restarts in a true sliding window: the times of the last Restarts of them, in a ring. One more is
// too many exactly when the oldest of these is still inside the window, so a restart costs the same, amortized, however many
// there have been, and a budget takes no memory before it is used. (OTP keeps every restart of the period in a list, in whole seconds.)
type window struct {
	limit  int
	within time.Duration
	base   time.Time       // of the first restart; the others are kept as distances from it
	times  []time.Duration // grows with the restarts that there are, to limit of them; from then on it is a ring
	next   int             // the oldest of the ring, which the next one replaces
}

func newWindow(i Intensity) window { return window{limit: i.Restarts, within: i.Within} }

// add counts a restart at now and reports whether it is still allowed. The edge of the window is inside it, as in OTP.
// A clock that went backwards makes restarts younger, never older: the supervisor gives up earlier, not later.
func (w *window) add(now time.Time) bool {
	if w.spent(now) {
		return false
	}
	if w.times == nil {
		w.base = now
	}
	at := now.Sub(w.base)
	if !w.full() {
		w.times = append(w.times, at)
		return true
	}
	w.times[w.next] = at
	w.next = (w.next + 1) % w.limit
	return true
}

// spent reports whether another restart at now would be one too many.
func (w *window) spent(now time.Time) bool {
	return w.limit == 0 || w.full() && now.Sub(w.base)-w.times[w.next] <= w.within
}

func (w *window) full() bool { return len(w.times) == w.limit }
