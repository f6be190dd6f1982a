package otp

// Behaviour is the code of a worker. One value lives for one incarnation: its fields are the worker's state and are
// gone when it ends, except for what it handed to Process.SetHeir. The three methods are never called concurrently.
type Behaviour interface {
	// Init prepares the worker. The next sibling starts when it has returned. An error or a panic is a failed start;
	// Ignore means that there is nothing to run and that this is fine.
	Init(p *Process) error
	// Receive handles one message. A non-nil result ends the incarnation with that reason: Normal and ErrShutdown are
	// ordinary ends, anything else is abnormal. A panic is a crash. It should not block for long: while it runs the
	// worker can be neither asked nor stopped; p.Go and CallAsync are there for what takes time.
	Receive(p *Process, msg any) error
	// Terminate is called once at the end of every incarnation whose Init succeeded, whatever the reason, except when
	// the worker is killed. It must not send to p. A panic in it is reported and changes nothing else.
	Terminate(p *Process, reason error)
}

// Base gives a Behaviour an empty Init and Terminate.
type Base struct{}

// Init does nothing.
func (Base) Init(*Process) error { return nil }

// Terminate does nothing.
func (Base) Terminate(*Process, error) {}
