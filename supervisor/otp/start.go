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

// Start says what runs in a row. It is made by Worker, Service, Supervisor or one of their With forms; the function
// given is called anew for every incarnation, on the child's own goroutine, and a panic in it is a failed start.
type Start struct {
	worker     func(args any) Behaviour
	supervisor func(args any) Spec
	static     func() Spec // set where the spec takes no args, so that Validate sees the whole tree
	needsArgs  bool
}

// Worker starts an actor with a new Behaviour for every incarnation.
func Worker(f func() Behaviour) Start {
	if f == nil {
		return Start{}
	}
	return Start{worker: func(any) Behaviour { return f() }}
}

// WorkerWith is Worker for templates: args are those given to StartChildArgs, the same at every restart.
func WorkerWith(f func(args any) Behaviour) Start {
	return Start{worker: f, needsArgs: true}
}

// Service runs a suture service in the row. The factory runs synchronously, so that what it acquires (a listening
// socket) is there when the next child starts and its error is a failed start. See the package documentation for what
// the service's result means.
func Service(f func() (suture.Service, error)) Start {
	if f == nil {
		return Start{}
	}
	return Start{worker: func(any) Behaviour { return newService(func() (suture.Service, error) { return f() }) }}
}

// ServiceWith is Service for templates.
func ServiceWith(f func(args any) (suture.Service, error)) Start {
	if f == nil {
		return Start{}
	}
	return Start{
		worker:    func(args any) Behaviour { return newService(func() (suture.Service, error) { return f(args) }) },
		needsArgs: true,
	}
}

// Supervisor starts a supervisor below this one.
func Supervisor(s Spec) Start {
	return SupervisorFunc(func() Spec { return s })
}

// SupervisorFunc is Supervisor with a spec that is made at every start, for children that come and go: those added by StartChild are
// forgotten when their supervisor restarts, and those that were deleted come back, unless the spec knows better.
func SupervisorFunc(f func() Spec) Start {
	return Start{supervisor: func(any) Spec { return f() }, static: f}
}

// SupervisorWith is Supervisor for templates: the tree below one pool entry, made from its arguments. A spec that does
// not validate is a failed start.
func SupervisorWith(f func(args any) Spec) Start {
	return Start{supervisor: f, needsArgs: true}
}

// Type is what the start makes.
func (s Start) Type() Type {
	if s.supervisor != nil {
		return SupervisorType
	}
	return WorkerType
}

// Spec is the spec that Supervisor was given, for who draws or checks a tree that does not run. There is none for a worker, nor for
// SupervisorWith, whose spec is made from its args at every start.
func (s Start) Spec() (spec Spec, ok bool) {
	if s.static == nil {
		return Spec{}, false
	}
	return s.static(), true
}

func (s Start) isZero() bool { return s.worker == nil && s.supervisor == nil }
