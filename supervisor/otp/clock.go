package otp

import "time"

// Clock tells the time and calls functions later. Implementations are safe for concurrent use. A
// test or a simulation gives a System one of its own.
type Clock interface {
	// Now returns the current time. The difference of two results is the elapsed time.
	Now() time.Time
	// AfterFunc calls f once, in its own goroutine, d from now, and at once for a d of zero or less.
	AfterFunc(d time.Duration, f func()) ClockTimer
}

// ClockTimer is a call that Clock.AfterFunc has scheduled.
type ClockTimer = interface {
	// Stop prevents the call and reports whether it did. False means that the function has started or
	// that the timer was stopped before.
	Stop() bool
}
