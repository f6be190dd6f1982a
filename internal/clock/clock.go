// Package clock lets a component get the time from its caller: a way to read the time, and a way to
// be woken.
//
// It does not know the purpose of the time. It has no sleep function: a caller that waits owns a
// timer and can stop it.
package clock

import "time"

// Clock tells the time and calls a function later. Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the current time. The difference of two results is the elapsed time.
	Now() time.Time
	// AfterFunc calls f once, in its own goroutine, d from now. With a d of zero or less it calls f at
	// once. The function f must return promptly.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that AfterFunc has scheduled. It is an alias of a type without a name, so that
// packages of others can declare a Clock of their own.
type Timer = interface {
	// Stop prevents the call and reports whether it did. False means that the function has started or
	// that the timer was stopped before.
	Stop() bool
}

// System is the machine's clock. Inside a testing/synctest bubble it is the bubble's clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
