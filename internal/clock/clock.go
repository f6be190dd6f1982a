// Package clock is the time a component is given instead of taking it: a way to read the hour and a way to be woken.
//
// It does not know what the time is used for, and it offers no sleep: whoever waits owns a timer and can stop it.
package clock

import "time"

// Clock tells the time and wakes a function later. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the current time. Differences between two results measure elapsed time.
	Now() time.Time
	// AfterFunc calls f once, in its own goroutine, d from now; a d of zero or less means at once.
	// f must return promptly: nobody waits for it.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that AfterFunc has scheduled.
type Timer interface {
	// Stop prevents the call and reports whether it did: false means that the function has started or that the
	// timer was stopped before.
	Stop() bool
}

// System is the machine's clock. Inside a testing/synctest bubble it is the bubble's clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
