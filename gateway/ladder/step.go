package ladder

import (
	"slices"
	"time"
)

// Event is an event in the life of a tenant.
type Event interface{ event() }

type (
	// Ended says that the tenant has ended by itself, or did not start.
	Ended struct{ Why }
	// CrashCharged says that a message of the tenant has crashed a component that all tenants share.
	CrashCharged struct{ Why }
	// Passed says that time has passed.
	Passed struct{}
	// Operated says that an operator wants to change the tenant.
	Operated struct {
		Verb Verb
		Why
	}
)

func (Ended) event()        {}
func (CrashCharged) event() {}
func (Passed) event()       {}
func (Operated) event()     {}

// Verb is an operation of an operator on a tenant.
type Verb string

// The verbs.
const (
	Restart    Verb = "restart"    // stop it and start it again; forget its ends
	Quarantine Verb = "quarantine" // stop it, and do not start it before it is released
	Release    Verb = "release"    // start it now; forget its ends
)

// Verbs returns all verbs.
func Verbs() []Verb { return []Verb{Restart, Quarantine, Release} }

// Effect is an action that a step requires. Effects are performed in the order of the constants.
type Effect uint8

// The effects.
const (
	Stop         Effect = iota // stop the tenant
	Start                      // start it once it is stopped
	ReportPaused               // report the new standing
	ReportQuarantined
	ReportResumed // it is started after a pause, or as a probe
	ReportReleased
	ReportRestarted
	// Refuse an operator's wish, because an operator has quarantined the tenant.
	Refuse
)

func (e Effect) String() string {
	return [...]string{"stop", "start", "tell paused", "tell quarantined", "tell resumed",
		"tell released", "tell restarted", "refuse"}[e]
}

// Step returns the standing of a tenant after an event, and the effects to perform.
func Step(s Standing, now time.Time, e Event) (Standing, []Effect) {
	switch e := e.(type) {
	case Ended:
		if !s.Runs() {
			return s, nil // it was stopped
		}
		return s.down(now, e.Why)
	case CrashCharged:
		if !s.Runs() {
			return s, nil
		}
		s.charged = slices.DeleteFunc(slices.Clone(s.charged), func(at time.Time) bool {
			return now.Sub(at) > ChargeTime
		})
		if s.charged = append(s.charged, now); len(s.charged) < MaxCharges {
			return s, nil
		}
		s, effects := s.down(now, e.Why)
		return s, append([]Effect{Stop}, effects...)
	case Passed:
		return s.passed(now)
	case Operated:
		return s.operated(now, e)
	}
	return s, nil
}

// down returns the standing of a tenant that has ended by itself once more.
func (s Standing) down(now time.Time, reason Why) (Standing, []Effect) {
	if s.State != Probing && now.Sub(s.Since) >= Stable {
		s.Ends, s.Pause = 0, 0
	}
	first, last := FirstPause, LastPause
	next := Standing{State: Paused, Since: now, Ends: s.Ends + 1, Why: reason}
	tell := ReportPaused
	if next.Ends >= MaxEnds || s.State == Probing {
		next.State, tell = Quarantined, ReportQuarantined
		if first, last = FirstProbe, LastProbe; s.State != Probing {
			s.Pause = 0
		}
	}
	next.Pause = min(max(2*s.Pause, first), last)
	next.Until = now.Add(next.Pause)
	return next, []Effect{tell}
}

// passed returns the standing of a tenant after its waiting time, if the time is over.
func (s Standing) passed(now time.Time) (Standing, []Effect) {
	if at := s.Next(); at.IsZero() || now.Before(at) {
		return s, nil
	}
	switch s.State {
	case Paused:
		s.State, s.Since, s.Until = Running, now, time.Time{}
		return s, []Effect{Start, ReportResumed}
	case Quarantined:
		s.State, s.Since, s.Until = Probing, now, time.Time{}
		return s, []Effect{Start, ReportResumed}
	case Probing:
		return Standing{State: Running, Since: s.Since}, []Effect{ReportReleased}
	}
	return Standing{State: Running, Since: s.Since}, nil // it ran for long enough
}

func (s Standing) operated(now time.Time, e Operated) (Standing, []Effect) {
	running := Standing{State: Running, Since: now}
	switch e.Verb {
	case Quarantine:
		next := Standing{State: Quarantined, Since: now, Operator: true, Why: e.Why}
		if !s.Runs() {
			return next, []Effect{ReportQuarantined}
		}
		return next, []Effect{Stop, ReportQuarantined}
	case Release:
		if s.Runs() {
			running.Since = s.Since
			if s.State == Probing {
				return running, []Effect{ReportReleased}
			}
			return running, nil
		}
		return running, []Effect{Start, ReportReleased}
	case Restart:
		if s.Operator {
			return s, []Effect{Refuse}
		}
		if !s.Runs() {
			return running, []Effect{Start, ReportRestarted}
		}
		return running, []Effect{Stop, Start, ReportRestarted}
	}
	return s, []Effect{Refuse}
}
