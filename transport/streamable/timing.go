package streamable

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// fastEnough is the rate at which a body may take longer than Bounds.BodyTime, counted from half
	// of that time on. It allows for a slow mobile uplink. A slower body holds a connection without
	// good reason.
	fastEnough  = 10 << 10          // bytes per second
	maxBodyTime = 120 * time.Second // no message is worth a longer wait
	// overtime is how long a late body may continue. It is granted again each time fastEnough bytes
	// have arrived: a slow host may not have read in time all that was sent. Bodies of unknown length
	// and HTTP/2 bodies get it only after a pause, because their readers fail permanently.
	overtime = time.Second
)

// deadline returns the controller that sets the deadlines of a response. Its errors are ignored:
// only connections of tests have no deadlines.
func deadline(w http.ResponseWriter) *http.ResponseController {
	return http.NewResponseController(w)
}

// timing is the time limit of a body. It counts only the time in which the client delays the body.
type timing struct {
	control      http.ResponseController
	least        time.Duration // granted in any case
	start, until time.Time
	late         int // bytes received when the time was over; -1 before that
}

// newTiming starts the time limit.
func newTiming(w http.ResponseWriter, least time.Duration) timing {
	start := time.Now()
	return timing{*deadline(w), least, start, start.Add(least), -1}
}

// came extends the limit for the n bytes received so far.
func (t *timing) came(n int) {
	if until := t.start.Add(bodyTime(t.least, n)); until.After(t.until) {
		t.limit(until)
	}
}

// more reports whether the body may continue after its time was over, and extends the limit if so.
func (t *timing) more(n int) bool {
	now := time.Now()
	if t.late >= 0 && n-t.late < fastEnough || now.Sub(t.start) > maxBodyTime {
		return false
	}
	t.late = n
	t.limit(now.Add(overtime))
	return true
}

// pause stops the time limit, and returns the current time, for resume.
func (t *timing) pause() time.Time {
	t.control.SetReadDeadline(time.Time{})
	return time.Now()
}

func (t *timing) resume(paused time.Time) {
	now := time.Now()
	wait := now.Sub(paused)
	t.start = t.start.Add(wait)
	until := t.until.Add(wait)
	if least := now.Add(overtime); until.Before(least) {
		until = least
	}
	t.limit(until)
}

// end clears the deadline after the whole body was read. The deadline would otherwise end the wait
// for the answer.
func (t *timing) end() { t.control.SetReadDeadline(time.Time{}) }

func (t *timing) limit(until time.Time) {
	t.until = until
	t.control.SetReadDeadline(until)
}

func (t *timing) passed() time.Duration { return time.Since(t.start) }

// timed is a body with a time limit.
type timed struct {
	timing
	src io.Reader
	n   int // bytes received
}

// Read fails with os.ErrDeadlineExceeded when the time is over.
func (t *timed) Read(to []byte) (int, error) {
	for {
		n, err := t.src.Read(to)
		t.n += n
		switch {
		case err == nil:
			t.came(t.n)
			return n, nil
		case !errors.Is(err, os.ErrDeadlineExceeded) || !t.more(t.n):
			return n, err
		case n > 0:
			return n, nil
		}
	}
}

// discard reads the rest of a refused body, because a client that is cut off while it sends may not
// see the answer. If the body does not end, its deadline stays in force, since net/http also tries
// to read the rest. A late body is the last on its connection: see surviveLateBody.
func (t *timed) discard(w http.ResponseWriter, r *http.Request) {
	rest := *t // allocated on the heap here, so that other bodies need not be
	_, err := io.Copy(io.Discard, &rest)
	if err != nil || rest.late >= 0 {
		closeAfter(w, r)
	}
	if err == nil {
		rest.end()
	}
}

// bodyTime returns the time limit of a body of which n bytes have arrived.
func bodyTime(least time.Duration, n int) time.Duration {
	return max(least, min(maxBodyTime, least/2+time.Duration(n)*time.Second/fastEnough))
}
