// Package fault is the list of faults that are armed in this process: what should break, where, and until when.
//
// It is present in the release binary and inert until something is armed; an unarmed check is one atomic load. It
// does not know actors or transports (they ask it), nor who may arm a fault (the caller decides), and it cannot
// keep a fault for ever: each has a lease and heals by itself.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// MaxLease is the longest a fault may stay armed. Ten minutes is longer than any recovery that is measured and
// short enough that a forgotten fault is gone before anybody looks for another cause.
const MaxLease = 10 * time.Minute

// MaxArmed is how many faults may be armed at once. A run that breaks things arms a handful; the bound keeps the
// check, which walks all of them, short.
const MaxArmed = 64

// Action is what a fault does where it strikes.
type Action uint8

// Actions. The zero value is none, so that a forgotten field is refused.
const (
	Panic Action = iota + 1 // the receiver of a message panics before it handles it
)

// String is the action's name as it is written in chaos plans.
func (a Action) String() string {
	if a == Panic {
		return "panic"
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Point is where a fault strikes: at messages of one kind, at actors of one path.
type Point struct {
	// Path is an actor's path, or a prefix that ends in "*".
	Path string
	// Kind is the message's Go type without the package's directory, as %T prints it ("*request.Call"); "" is any.
	Kind string
}

// Fault is one thing to break.
type Fault struct {
	Action Action
	Point  Point
	// Count is how many times it strikes; 0 is without limit while the lease lasts.
	Count int
	// Lease is how long it stays armed, at most MaxLease. It is required.
	Lease time.Duration
}

// Status is an armed fault as it is now.
type Status struct {
	ID string
	Fault
	// Struck is how many times it has struck.
	Struck int
	// Until is when the lease ends.
	Until time.Time
}

// Injected is the value of an injected panic, so that a crash report shows at once that it was asked for.
type Injected struct {
	ID   string // the fault that struck
	Path string // the actor it struck
}

func (i Injected) Error() string { return fmt.Sprintf("injected panic %s at %s", i.ID, i.Path) }

// Errors of Arm.
var (
	ErrAction = errors.New("unknown action")
	ErrPoint  = errors.New("no path")
	ErrCount  = errors.New("negative count")
	ErrLease  = errors.New("lease out of range")
	ErrFull   = errors.New("too many armed faults")
)

func (f Fault) check() error {
	switch {
	case f.Action != Panic:
		return fmt.Errorf("fault %s: %w", f.Action, ErrAction)
	case f.Point.Path == "":
		return fmt.Errorf("fault %s: %w", f.Action, ErrPoint)
	case f.Count < 0:
		return fmt.Errorf("fault at %s: %w: %d", f.Point.Path, ErrCount, f.Count)
	case f.Lease <= 0 || f.Lease > MaxLease:
		return fmt.Errorf("fault at %s: %w: %s, want 0 < lease <= %s", f.Point.Path, ErrLease, f.Lease, MaxLease)
	}
	return nil
}
