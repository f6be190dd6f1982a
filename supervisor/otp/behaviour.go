package otp

// Behaviour is the code of a worker. Each incarnation has its own value: the fields are the
// worker's state and are lost when the incarnation ends, except for a value given to
// Process.SetCarriedState. The three methods are never called concurrently.
type Behaviour interface {
	// Init prepares the worker. The next sibling starts when Init has returned. An error or a panic is
	// a failed start. The error Ignore means that there is nothing to run, and counts as success.
	Init(p *Process) error
	// Receive handles one message. A non-nil result ends the incarnation with that reason: Normal,
	// ErrShutdown and ShutdownWith are ordinary ends, any other reason is abnormal. A panic is a
	// crash. Receive should not block for long: while it runs, the worker can neither answer nor stop.
	// Use Process.Go and CallAsync for work that takes time.
	Receive(p *Process, msg any) error
	// Terminate is called once at the end of every incarnation whose Init succeeded, whatever the
	// reason. It is not called when the worker is stopped by BrutalKill, or is stuck and was replaced
	// or abandoned. It must not send to its own process. A panic in it is reported (TerminatePanicked)
	// and changes nothing else.
	Terminate(p *Process, reason error)
}

// Base implements Init and Terminate of a Behaviour; both do nothing.
type Base struct{}

// Init does nothing.
func (Base) Init(*Process) error { return nil }

// Terminate does nothing.
func (Base) Terminate(*Process, error) {}
