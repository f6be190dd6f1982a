package otp

import "github.com/thejerf/suture/v4"

// Type is what a row holds, as in OTP's which_children.
type Type uint8

// Types of children. A service counts as a worker.
const (
	WorkerType Type = iota
	SupervisorType
)

func (t Type) String() string { return name(t, "worker", "supervisor") }

// Start says what runs in a row. Make it with Worker, Service, Supervisor or one of their With
// forms. The given function is called for every incarnation, on the child's own goroutine. A panic
// in it is a failed start.
type Start struct {
	worker     func(args any) Behaviour
	supervisor func(args any) Spec
	static     func() Spec // set when the spec needs no args, so that Validate sees the whole tree
	needsArgs  bool
}

// Worker starts an actor. f makes a new Behaviour for every incarnation.
func Worker(f func() Behaviour) Start {
	if f == nil {
		return Start{}
	}
	return Start{worker: func(any) Behaviour { return f() }}
}

// WorkerWith is Worker for templates. The args are those given to StartChildArgs, the same at every
// restart.
func WorkerWith(f func(args any) Behaviour) Start {
	return Start{worker: f, needsArgs: true}
}

// Service runs a suture service in the row. The factory f runs synchronously: a resource that it
// acquires (a listening socket) exists when the next child starts, and its error is a failed start.
// The package documentation has a table of what the service's result means.
func Service(f func() (suture.Service, error)) Start {
	if f == nil {
		return Start{}
	}
	return Start{worker: func(any) Behaviour {
		return newService(func() (suture.Service, error) { return f() })
	}}
}

// ServiceWith is Service for templates. The args are those given to StartChildArgs.
func ServiceWith(f func(args any) (suture.Service, error)) Start {
	if f == nil {
		return Start{}
	}
	return Start{
		worker: func(args any) Behaviour {
			return newService(func() (suture.Service, error) { return f(args) })
		},
		needsArgs: true,
	}
}

// Supervisor starts a supervisor below this row, with a fixed spec.
func Supervisor(s Spec) Start {
	return SupervisorFunc(func() Spec { return s })
}

// SupervisorFunc is Supervisor with a spec that f makes at every start, for children that come and
// go. When a supervisor restarts, children added by StartChild are forgotten and deleted children
// of the spec come back, unless f returns a spec that takes the changes into account.
func SupervisorFunc(f func() Spec) Start {
	return Start{supervisor: func(any) Spec { return f() }, static: f}
}

// SupervisorWith is Supervisor for templates: f makes the tree below one pool entry from the args
// given to StartChildArgs. A spec that does not pass Validate is a failed start.
func SupervisorWith(f func(args any) Spec) Start {
	return Start{supervisor: f, needsArgs: true}
}

// Type returns the type of child that the start makes.
func (s Start) Type() Type {
	if s.supervisor != nil {
		return SupervisorType
	}
	return WorkerType
}

// Spec returns the spec that Supervisor or SupervisorFunc was given, for code that draws or checks
// a tree that does not run. ok is false for a worker, and for SupervisorWith, whose spec is made
// from its args at every start.
func (s Start) Spec() (spec Spec, ok bool) {
	if s.static == nil {
		return Spec{}, false
	}
	return s.static(), true
}

// ended returns the start of a row that is removed: of the same type, and it starts nothing. An
// incarnation that its supervisor no longer waits for may still use it.
func (s Start) ended() Start {
	if s.Type() == SupervisorType {
		return Start{supervisor: func(any) Spec { return Spec{} }}
	}
	return Start{worker: func(any) Behaviour { return gone{} }}
}

// gone is the behaviour of a removed row.
type gone struct{ Base }

func (gone) Init(*Process) error         { return ErrShutdown }
func (gone) Receive(*Process, any) error { return ErrShutdown }

func (s Start) isZero() bool { return s.worker == nil && s.supervisor == nil }
