package otp

import "time"

// window counts restarts in an exact sliding window. It holds the times of the last limit restarts,
// in a ring. One more restart is too many exactly when the oldest of these is still inside the
// window. So a restart has constant amortized cost, however many there were, and a window takes no
// memory before the first restart. (OTP keeps a list of all restarts of the period, in whole
// seconds.)
type window struct {
	limit  int
	within time.Duration
	base   time.Time // time of the first restart; times are offsets from it
	// times grows with the restarts, up to limit entries; from then on it is a ring.
	times []time.Duration
	next  int // index of the oldest entry of the ring, which is replaced next
}

func newWindow(i Intensity) window { return window{limit: i.Restarts, within: i.Within} }

// add counts a restart at now and reports whether it is allowed. The edge of the window is inside
// it, as in OTP. A clock that goes backwards makes restarts look younger, never older, so the
// supervisor gives up earlier, not later.
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
