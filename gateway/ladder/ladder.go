// Package ladder decides what becomes of a tenant that ends by itself. It is started again after a
// pause that grows, quarantined when it ends too often in a row, and probed rarely from then on.
//
// It knows no clock and starts nothing: Step takes a standing and an event, and returns the next
// standing and what to do.
package ladder

import "time"

// State is how a tenant stands.
type State string

// The states.
const (
	Running     State = "running"
	Paused      State = "paused"      // it ended by itself and is started again when its pause is over
	Quarantined State = "quarantined" // it is not started but for a probe, or an operator has put it away
	Probing     State = "probing"     // it runs to find out whether it can
)

// Pauses of a tenant that ended by itself. They double from FirstPause to LastPause; one that ran for
// Stable begins anew.
const (
	FirstPause = time.Second
	LastPause  = 5 * time.Minute
	Stable     = time.Minute
)

// MaxEnds is how often in a row a tenant ends by itself before it is quarantined: with pauses of
// eight and a half minutes in all.
const MaxEnds = 10

// Pauses before a tenant that is quarantined is probed.
const (
	FirstProbe = 10 * time.Minute
	LastProbe  = time.Hour
)

// MaxCharges and ChargeTime: a tenant whose messages have crashed shared components so often within
// that time is paused as if it had ended by itself.
const (
	MaxCharges = 2
	ChargeTime = 10 * time.Second
)

// Standing is how a tenant stands. The zero Standing is that of one that has never ended.
type Standing struct {
	State    State // "" is Running
	Since    time.Time
	Times    int // that it ended by itself in a row
	Gap      time.Duration
	Until    time.Time // when it is started again; zero is not by itself
	Operator bool
	Why

	charged []time.Time // crashes of shared components within ChargeTime, the oldest first
}

// Why is the cause of an end, and the incident by which the log knows it.
type Why struct {
	Cause    string
	Incident string
}

// Runs reports whether the tenant is to run.
func (s *Standing) Runs() bool { return s.State != Paused && s.State != Quarantined }

// Clean reports whether there is nothing to remember.
func (s *Standing) Clean() bool { return s.Runs() && s.State != Probing && s.Times == 0 }

// Wait is how long until the tenant is started again, as far as that is known: an operator may take
// longer, and is asked for as often as LastPause.
func (s *Standing) Wait(now time.Time) time.Duration {
	if s.Until.IsZero() {
		return LastPause
	}
	return max(0, s.Until.Sub(now))
}

// Next is when Step is to be told that time has passed; zero is never.
func (s *Standing) Next() time.Time {
	switch {
	case !s.Runs():
		return s.Until
	case s.Clean():
		return time.Time{}
	}
	return s.Since.Add(Stable)
}
