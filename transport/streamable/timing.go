package streamable

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// fastEnough is the rate, counted after half of Bounds.BodyTime, at which a body may take longer than that: a slow mobile uplink.
	// What trickles below it holds a connection for no reason.
	fastEnough  = 10 << 10          // bytes a second
	maxBodyTime = 120 * time.Second // no message is worth a longer wait
	// overtime is how long those may go on who are late, for each time that as much has come as is fast enough: when the host is slow, it has not
	// read all that was sent in time. A body of unknown length and one of HTTP/2 have it only after a pause: their readers fail for good.
	overtime = time.Second
)

// deadline is what sets the deadlines of a response. Their errors are not looked at: a connection without deadlines is one of a test.
func deadline(w http.ResponseWriter) *http.ResponseController { return http.NewResponseController(w) }

// timing is how long a body may take, of what is the client's time.
type timing struct {
	control      http.ResponseController
	least        time.Duration // in any case
	start, until time.Time
	late         int // the bytes that were there when the time was over; -1 when it was not
}

// newTiming begins now.
func newTiming(w http.ResponseWriter, least time.Duration) timing {
	start := time.Now()
	return timing{*deadline(w), least, start, start.Add(least), -1}
}

// came postpones the end for the bytes that are there now.
func (t *timing) came(n int) {
	if until := t.start.Add(bodyTime(t.least, n)); until.After(t.until) {
		t.limit(until)
	}
}

// more reports whether the body may go on after its time was over, and gives it more if so.
func (t *timing) more(n int) bool {
	now := time.Now()
	if t.late >= 0 && n-t.late < fastEnough || now.Sub(t.start) > maxBodyTime {
		return false
	}
	t.late = n
	t.limit(now.Add(overtime))
	return true
}

// pause stops the time, and returns when that was, for resume.
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

// end is that of the whole body. Its deadline would end the wait for the answer.
func (t *timing) end() { t.control.SetReadDeadline(time.Time{}) }

func (t *timing) limit(until time.Time) {
	t.until = until
	t.control.SetReadDeadline(until)
}

func (t *timing) passed() time.Duration { return time.Since(t.start) }

// timed is a body that may take its time.
type timed struct {
	timing
	src io.Reader
	n   int // bytes that came
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

// discard reads the rest of a body that is refused: a client that is cut off while it sends may not see why. A body that does not end keeps
// its deadline: net/http, too, tries to read the rest. After one that was late there is nothing more on the connection: see outlive.
func (t *timed) discard(w http.ResponseWriter, r *http.Request) {
	rest := *t // on the heap, where other bodies need not be
	_, err := io.Copy(io.Discard, &rest)
	if err != nil || rest.late >= 0 {
		last(w, r)
	}
	if err == nil {
		rest.end()
	}
}

// bodyTime is how long a body may have taken when n bytes of it are there.
func bodyTime(least time.Duration, n int) time.Duration {
	return max(least, min(maxBodyTime, least/2+time.Duration(n)*time.Second/fastEnough))
}
