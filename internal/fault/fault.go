// Package fault is the list of faults that are armed in this process: what should break, where, and
// until when.
//
// It is part of the release binary and does nothing until a fault is armed. A check without armed
// faults is one atomic load. The package does not know actors, transports or stores; they call it.
// It does not know who may arm a fault; the caller decides. It cannot keep a fault forever: each
// has a lease and ends by itself.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxLease is the longest time that a fault may stay armed without being renewed. Ten minutes are
// longer than any recovery that is measured, and short enough that a forgotten fault ends before
// somebody looks for another cause.
const MaxLease = 10 * time.Minute

// MaxArmed is how many faults may be armed at once. A chaos run arms a handful. The bound limits
// the cost of a check, which walks all of them.
const MaxArmed = 64

// MaxDelay bounds the delay of a fault. No time limit of the host is longer.
const MaxDelay = time.Hour

// MaxStep bounds how far the wall clock is set ahead or behind: a year, as on a machine with an
// empty battery.
const MaxStep = 366 * 24 * time.Hour

// MaxRun bounds the name of the run that armed a fault, in bytes.
const MaxRun = 64

// Point says where a fault strikes. Every field that is not empty has to match.
type Point struct {
	// Place is the kind of place; empty is Receive.
	Place Place
	// Path is an actor's path, or a prefix that ends in "*". Places of actors require it; other places
	// have none.
	Path string
	// Kind is the message's Go type without the package's directory, as %T prints it
	// ("*request.Call"). Only Receive has one.
	Kind string
	// The embedded Who limits the fault to a tenant, a server, or a session. Places of actors have the
	// path for that. Receive and Routine also accept a tenant, which limits them to the messages and
	// goroutines that the tenant has caused (otp.Attributed).
	Who
}

// Who names the tenant, server and session on whose behalf something happens at a place. Unknown
// fields are empty.
type Who struct{ Tenant, Server, Session string }

// Fault is one thing to break.
type Fault struct {
	Action Action
	Point  Point
	// Percent is the percentage of matches that are struck, chosen at random with Seed; 0 is all. For
	// Fill it is the percentage of memory that is to be in use.
	Percent float64
	Seed    uint64
	// Delay depends on the action: how long the struck caller waits or computes, how late a message is
	// delivered, or how far the wall clock is off. A Hang without a delay lasts until the fault ends.
	Delay time.Duration
	// Count is how many times it strikes; 0 is without limit while the lease lasts.
	Count int
	// Lease is how long it stays armed unless renewed, at most MaxLease. It is required.
	Lease time.Duration
	// Run is the name of the run that armed it, so that all faults of one run can be ended together.
	Run string
}

// Status is the current state of an armed fault.
type Status struct {
	ID string
	Fault
	// Struck is how many times it has struck.
	Struck int
	// Until is when the lease ends.
	Until time.Time
}

// Injected is the value of an injected panic, and the error of an injected failure. It lets a crash
// report show at once that the crash was injected.
type Injected struct {
	ID     string // the fault that struck
	Action Action
	Where  string // the actor or the place that was struck
}

func (i Injected) Error() string {
	return fmt.Sprintf("injected %s %s at %s", i.Action, i.ID, i.Where)
}

// Errors of Arm and Renew.
var (
	ErrAction  = errors.New("unknown action")
	ErrPlace   = errors.New("unknown place")
	ErrPoint   = errors.New("wrong point")
	ErrPercent = errors.New("percent out of range")
	ErrDelay   = errors.New("delay out of range")
	ErrCount   = errors.New("negative count")
	ErrLease   = errors.New("lease out of range")
	ErrRun     = errors.New("run's name is too long")
	ErrFull    = errors.New("too many armed faults")
	ErrGone    = errors.New("no such fault is armed")
)

func (f Fault) check() error {
	wrong := func(cause error, format string, args ...any) error {
		return fmt.Errorf("fault %q: %w: %s", f.Action, cause, fmt.Sprintf(format, args...))
	}
	row, ok := rowOf(f.Point.Place)
	if !ok {
		return wrong(ErrPlace, "%q; there are %s", f.Point.Place, placeNames())
	}
	if !slices.Contains(row.actions, f.Action) {
		return wrong(ErrAction, "%s takes %s", row.place, join(row.actions))
	}
	waits, most := slices.Contains(delayed, f.Action), MaxDelay
	if row.place == WallClock {
		most = MaxStep
	}
	switch {
	case row.by == ofActor && f.Point.Path == "":
		return wrong(ErrPoint, "%s needs the path of an actor", row.place)
	case row.by != ofActor && (f.Point.Path != "" || f.Point.Kind != ""):
		return wrong(ErrPoint, "%s has no path and no kind", row.place)
	case row.by == ofActor && (f.Point.Server != "" || f.Point.Session != ""):
		return wrong(ErrPoint, "an actor's path says whose it is; leave out server and session")
	case row.place == Init && f.Point.Tenant != "":
		return wrong(ErrPoint, "%s has no message, so nobody who has caused it", row.place)
	case row.by == ofHost && f.Point.Who != (Who{}):
		return wrong(ErrPoint, "%s is the host's; leave out tenant, server and session", row.place)
	case row.place != Receive && f.Point.Kind != "":
		return wrong(ErrPoint, "%s has no message, so no kind", row.place)
	case !(f.Percent >= 0 && f.Percent <= 100):
		return wrong(ErrPercent, "%v, want 0 to 100, 0 being all", f.Percent)
	case row.lasts && f.Count != 0:
		return wrong(ErrCount, "%s is so while it is armed", f.Action)
	case row.place == WallClock && f.Percent != 0:
		return wrong(ErrPercent, "there is one hour")
	case f.Action == Fill && f.Percent == 0:
		return wrong(ErrPercent, "it needs to know how full")
	case f.Delay < 0 || f.Delay > most:
		return wrong(ErrDelay, "%s, want up to %s", f.Delay, most)
	case !waits && f.Delay != 0:
		return wrong(ErrDelay, "%s, but it waits for nothing", f.Delay)
	case waits && f.Delay == 0 && f.Action != Hang:
		return wrong(ErrDelay, "it needs one")
	case f.Count < 0:
		return wrong(ErrCount, "%d", f.Count)
	case len(f.Run) > MaxRun:
		return wrong(ErrRun, "%d bytes, want up to %d", len(f.Run), MaxRun)
	}
	return checkLease(f.Lease)
}

func checkLease(d time.Duration) error {
	if d <= 0 || d > MaxLease {
		return fmt.Errorf("%w: %s, want 0 < lease <= %s", ErrLease, d, MaxLease)
	}
	return nil
}

func join[T ~string](words []T) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, ", ")
}
