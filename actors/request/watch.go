package request

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/inflight"
)

// watch is how long an exchange may still take. Progress starts its wait anew, up to the end of all
// waiting; while its user is being asked neither of them counts.
type watch struct {
	deadline inflight.Deadline[*Exchange]
	started  time.Time
	timeout  time.Duration // of the wait for an answer or for progress
	parks    int           // how many questions its user is being asked

	// All of these count from when it started.
	until  time.Duration // the next deadline
	end    time.Duration // no deadline is later, but while it is parked
	parked time.Duration // since when its user is being asked
}

// next is the next deadline.
func (w *watch) next() time.Time { return w.started.Add(w.until) }

// begin starts the wait for the outcome.
func (w *watch) begin(now time.Time, x *Exchange) {
	if w.started = x.Arrived; w.started.IsZero() {
		w.started = now
	}
	if w.timeout = x.Timeout; w.timeout == 0 {
		w.timeout = protocol.RequestTimeout
	}
	w.end = max(x.MaxTimeout, w.timeout)
	w.until = w.timeout
}

// progress starts the wait anew.
func (w *watch) progress(now time.Time) {
	if w.parks == 0 {
		w.until = min(now.Sub(w.started)+w.timeout, w.end)
	}
}

// park has the exchange wait for its user, for that long from now. It may ask several things at once.
func (w *watch) park(now time.Time, d time.Duration) {
	if w.parks == 0 {
		w.parked = now.Sub(w.started)
	}
	w.parks++
	w.until = now.Sub(w.started) + d
}

// unpark takes one park back. After the last the wait begins anew, and the time that the user took
// does not count against it.
func (w *watch) unpark(now time.Time) {
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
