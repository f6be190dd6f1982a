package client

import "time"

// FailureEvery is how often failed starts with the same cause are reported. Those between are
// counted.
const FailureEvery = time.Minute

// failures counts the starts of a server that have failed since it was last ready.
type failures struct {
	n     uint32
	cause string    // of the last that was reported
	at    time.Time // when that was
}

// add counts a failed start, and reports whether it is to be reported.
func (f *failures) add(cause string, now time.Time) (changed bool) {
	f.n++
	if f.n > 1 && f.cause == cause && now.Sub(f.at) < FailureEvery {
		return false
	}
	f.cause, f.at = cause, now
	return true
}
