// Package ladder decides what happens to a tenant that ends by itself. The tenant is restarted
// after a pause that grows each time. After too many ends in a row it is quarantined, and from
// then on only rarely started as a probe.
//
// The package has no clock and starts nothing. Step takes a standing and an event, and returns
// the next standing and the effects to perform.
package ladder

import "time"

// State is the state of a tenant.
type State string

// The states.
const (
	Running State = "running"
	// A Paused tenant has ended by itself, and is restarted after its pause.
	Paused State = "paused"
	// A Quarantined tenant is started only as a probe, or not at all if an operator has quarantined
	// it.
	Quarantined State = "quarantined"
	// A Probing tenant was started as a probe.
	Probing State = "probing"
)

// Pauses of a tenant that ended by itself. They double from FirstPause to LastPause. A tenant
// that ran for Stable starts again with FirstPause.
const (
	FirstPause = time.Second
	LastPause  = 5 * time.Minute
	Stable     = time.Minute
)

// MaxEnds is the number of consecutive ends after which a tenant that ends by itself is
// quarantined. The pauses before that add up to eight and a half minutes.
const MaxEnds = 10

// Pauses before a quarantined tenant is started as a probe.
const (
	FirstProbe = 10 * time.Minute
	LastProbe  = time.Hour
)

// A tenant whose messages have crashed shared components MaxCharges times within ChargeTime is
// paused as if it had ended by itself.
const (
	MaxCharges = 2
	ChargeTime = 10 * time.Second
)

// Standing is the state of a tenant and its history. The zero Standing belongs to a tenant that
// has never ended.
type Standing struct {
	State State // "" is Running
	Since time.Time
	Ends  int // how often in a row it ended by itself
	Pause time.Duration
	// Until is when it is started again; zero if it is not started by itself.
	Until    time.Time
	Operator bool
	Why

	// charged are crashes of shared components within ChargeTime, the oldest first.
	charged []time.Time
}

// Why is the cause of an end, and the ID of its incident in the log.
type Why struct {
	Cause    string
	Incident string
}

// Runs reports whether the tenant should run.
func (s *Standing) Runs() bool { return s.State != Paused && s.State != Quarantined }

// Clean reports whether there is nothing to remember.
func (s *Standing) Clean() bool { return s.Runs() && s.State != Probing && s.Ends == 0 }

// Wait returns how long it takes until the tenant is started again. If only an operator can start
// it, that time is unknown and Wait returns LastPause.
func (s *Standing) Wait(now time.Time) time.Duration {
	if s.Until.IsZero() {
		return LastPause
	}
	return max(0, s.Until.Sub(now))
}

// Next returns when a Passed event is due; zero means never.
func (s *Standing) Next() time.Time {
	switch {
	case !s.Runs():
		return s.Until
	case s.Clean():
		return time.Time{}
	}
	return s.Since.Add(Stable)
}
