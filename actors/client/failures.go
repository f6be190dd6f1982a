package client

import "time"

// FailureEvery is how often it is told that starts fail for the same cause. Those between are
// counted.
const FailureEvery = time.Minute

// failures are the starts of a server that have failed since it was ready last.
type failures struct {
	n     uint32
	cause string    // of the last that was told
	at    time.Time // when that was
}

// add counts one, and reports whether it is news.
func (f *failures) add(cause string, now time.Time) (news bool) {
	f.n++
	if f.n > 1 && f.cause == cause && now.Sub(f.at) < FailureEvery {
		return false
	}
	f.cause, f.at = cause, now
	return true
}
