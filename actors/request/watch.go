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
	until    time.Time     // the next deadline
	timeout  time.Duration // of the wait for an answer or for progress
	end      time.Time     // no deadline is later, but while it is parked
	parks    int           // how many questions its user is being asked
	parked   time.Time     // since when
}

// begin starts the wait for the outcome.
func (w *watch) begin(now time.Time, x *Exchange) {
	if w.started = x.Arrived; w.started.IsZero() {
		w.started = now
	}
	if w.timeout = x.Timeout; w.timeout == 0 {
		w.timeout = protocol.RequestTimeout
	}
	w.end = w.started.Add(max(x.MaxTimeout, w.timeout))
	w.until = w.started.Add(w.timeout)
}

// progress starts the wait anew.
func (w *watch) progress(now time.Time) {
	if w.parks == 0 {
		w.until = earlier(now.Add(w.timeout), w.end)
	}
}

// park has the exchange wait for its user, for that long from now. It may ask several things at once.
func (w *watch) park(now time.Time, d time.Duration) {
	if w.parks == 0 {
		w.parked = now
	}
	w.parks++
	w.until = now.Add(d)
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
	w.end = w.end.Add(now.Sub(w.parked))
	w.until = earlier(now.Add(w.timeout), w.end)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
