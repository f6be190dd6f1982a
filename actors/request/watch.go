package request

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/inflight"
)

// timeouts is the time that an exchange has left. Progress restarts its time-out, up to the total
// limit. While its user is being asked neither limit runs.
type timeouts struct {
	deadline inflight.Deadline[*Exchange]
	started  time.Time
	timeout  time.Duration // limit of the wait for a response or for progress
	parks    int           // number of questions its user is being asked

	// These durations count from the time when it started.
	until  time.Duration // the next deadline
	end    time.Duration // the latest deadline, except while it is parked
	parked time.Duration // since when its user is being asked
}

// next returns the next deadline.
func (w *timeouts) next() time.Time { return w.started.Add(w.until) }

// begin starts the wait for the outcome.
func (w *timeouts) begin(now time.Time, x *Exchange) {
	if w.started = x.Arrived; w.started.IsZero() {
		w.started = now
	}
	if w.timeout = x.Timeout; w.timeout == 0 {
		w.timeout = protocol.RequestTimeout
	}
	w.end = max(x.MaxTimeout, w.timeout)
	w.until = w.timeout
}

// progress restarts the time-out.
func (w *timeouts) progress(now time.Time) {
	if w.parks == 0 {
		w.until = min(now.Sub(w.started)+w.timeout, w.end)
	}
}

// park lets the exchange wait for its user for d from now on. Several questions may be open at
// once.
func (w *timeouts) park(now time.Time, d time.Duration) {
	if w.parks == 0 {
		w.parked = now.Sub(w.started)
	}
	w.parks++
	w.until = now.Sub(w.started) + d
}

// unpark takes one park back. After the last one the time-out restarts, and the time that the user
// took does not count.
func (w *timeouts) unpark(now time.Time) {
	if w.parks == 0 {
		return
	}
	if w.parks--; w.parks > 0 {
		return
	}
	asked := now.Sub(w.started)
	w.end += asked - w.parked
	w.until = min(asked+w.timeout, w.end)
}
