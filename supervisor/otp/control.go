package otp

import "context"

// StartChild adds a row to a supervisor and starts it; it returns when the child is ready. Errors are ErrAlreadyPresent,
// ErrAlreadyStarted, ErrSimpleOneForOne, a *SpecError, and a *StartError, after which the row is not kept.
func StartChild(ctx context.Context, sup Ref, c Child) (Ref, error) {
	return ask[Ref](ctx, sup, startChild{child: c})
}

// StartChildArgs starts a child of a simple_one_for_one supervisor from its template. The args are given to the
// template's function at every start. Errors are as for StartChild, and ErrNotSimple.
func StartChildArgs(ctx context.Context, sup Ref, id string, args any) (Ref, error) {
	return ask[Ref](ctx, sup, startArgs{id: id, args: args})
}

// TerminateChild stops a child within its budget and returns when it has ended. Its row stays, with nothing running,
// unless the child is temporary or belongs to a simple_one_for_one supervisor. The error is ErrNotFound, or an
// *AbandonedError when the child did not stop in time.
func TerminateChild(ctx context.Context, sup Ref, id string) error {
	_, err := ask[struct{}](ctx, sup, terminateChild{id})
	return err
}

// RestartChild starts a child whose row exists and in which nothing runs. Errors are ErrNotFound, ErrRunning,
// ErrRestarting, ErrSimpleOneForOne, and a *StartError, after which the row is kept.
func RestartChild(ctx context.Context, sup Ref, id string) (Ref, error) {
	return ask[Ref](ctx, sup, restartChild{id})
}

// DeleteChild removes a row in which nothing runs. Errors are ErrNotFound, ErrRunning, ErrRestarting and
// ErrSimpleOneForOne.
func DeleteChild(ctx context.Context, sup Ref, id string) error {
	_, err := ask[struct{}](ctx, sup, deleteChild{id})
	return err
}

// ChildInfo is one row of WhichChildren.
type ChildInfo struct {
	ID     string
	Ref    Ref
	Type   Type
	Status Status
}

// WhichChildren lists a supervisor's rows in start order, those of a simple_one_for_one in the order of their start.
func WhichChildren(ctx context.Context, sup Ref) ([]ChildInfo, error) {
	return ask[[]ChildInfo](ctx, sup, whichChildren{})
}

// Counts is what CountChildren counts.
type Counts struct {
	Specs       int // rows; 1 for a simple_one_for_one
	Active      int // rows in which something runs
	Supervisors int
	Workers     int
}

// CountChildren counts a supervisor's rows.
func CountChildren(ctx context.Context, sup Ref) (Counts, error) {
	return ask[Counts](ctx, sup, countChildren{})
}

// StartChildAsync is StartChild from inside an actor: the outcome arrives as the message that wrap makes of it.
func StartChildAsync(p *Process, sup Ref, c Child, wrap func(Ref, error) any) {
	askAsync(p, sup, startChild{child: c}, wrap)
}

// StartChildArgsAsync is StartChildArgs from inside an actor.
func StartChildArgsAsync(p *Process, sup Ref, id string, args any, wrap func(Ref, error) any) {
	askAsync(p, sup, startArgs{id: id, args: args}, wrap)
}

// TerminateChildAsync is TerminateChild from inside an actor.
func TerminateChildAsync(p *Process, sup Ref, id string, wrap func(error) any) {
	askAsync(p, sup, terminateChild{id}, func(_ struct{}, err error) any { return wrap(err) })
}

// RestartChildAsync is RestartChild from inside an actor.
func RestartChildAsync(p *Process, sup Ref, id string, wrap func(Ref, error) any) {
	askAsync(p, sup, restartChild{id}, wrap)
}

// DeleteChildAsync is DeleteChild from inside an actor.
func DeleteChildAsync(p *Process, sup Ref, id string, wrap func(error) any) {
	askAsync(p, sup, deleteChild{id}, func(_ struct{}, err error) any { return wrap(err) })
}

// The requests a supervisor takes, as Call[…].Req.
type (
	startChild struct{ child Child }
	startArgs  struct {
		id   string
		args any
	}
	terminateChild struct{ id string }
	restartChild   struct{ id string }
	deleteChild    struct{ id string }
	whichChildren  struct{}
	countChildren  struct{}
)

// ask sends a request to a supervisor. Fail answers with an error of any kind, so the caller needs no other path.
func ask[Resp, Req any](ctx context.Context, sup Ref, req Req) (Resp, error) {
	if err := isSupervisor(sup); err != nil {
		var zero Resp
		return zero, err
	}
	return Do[Req, Resp](ctx, sup, req)
}

func askAsync[Resp, Req any](p *Process, sup Ref, req Req, wrap func(Resp, error) any) {
	if err := isSupervisor(sup); err != nil {
		p.deliver(&reply[Resp]{answer: answer[Resp]{err: err}, wrap: wrap, to: sup})
		return
	}
	CallAsync(p, sup, req, wrap)
}

func isSupervisor(sup Ref) error {
	switch {
	case sup.row == nil:
		return ErrNoProc
	case sup.row.child().Start.Type() != SupervisorType:
		return ErrNotSupervisor
	}
	return nil
}
