package otp

import "context"

// StartChild adds a row to a supervisor and starts it. It returns when the child is ready. Errors
// are:
//
//   - ErrAlreadyPresent when the id is in use but nothing runs there, an ErrAlreadyStarted when
//     something does
//   - ErrSimpleOneForOne when the supervisor is a pool
//   - ErrNotSupervisor when sup is no supervisor
//   - one *SpecError for each mistake in c
//   - a *StartError when the start failed, or when MaxIsolated processes below the supervisor are
//     stuck; the row is not kept then
//   - ErrShutdown when the child was told to stop meanwhile
//   - the errors of Do; when ctx ends the start may still succeed
func StartChild(ctx context.Context, sup Ref, c Child) (Ref, error) {
	return ask[Ref](ctx, sup, startChild{child: c})
}

// StartChildArgs starts a child of a simple_one_for_one supervisor from its template. The function
// of the template gets args at every start. Errors are those of StartChild, except
// ErrSimpleOneForOne, and ErrNotSimple for a supervisor without template.
func StartChildArgs(ctx context.Context, sup Ref, id string, args any) (Ref, error) {
	return ask[Ref](ctx, sup, startArgs{id: id, args: args})
}

// TerminateChild stops a child within its Shutdown and returns when the child has ended. The row
// stays, with nothing running, unless the child is temporary or belongs to a simple_one_for_one
// supervisor. Errors are ErrNotFound, ErrNotSupervisor, an *AbandonedError when the child did not
// stop in time, and the errors of Do.
func TerminateChild(ctx context.Context, sup Ref, id string) error {
	_, err := ask[struct{}](ctx, sup, terminateChild{id})
	return err
}

// RestartChild starts a child whose row exists and in which nothing runs. Errors are ErrNotFound,
// ErrRunning, ErrRestarting, ErrSimpleOneForOne, ErrNotSupervisor, ErrShutdown when the child was
// told to stop meanwhile, a *StartError, after which the row is kept, and the errors of Do.
func RestartChild(ctx context.Context, sup Ref, id string) (Ref, error) {
	return ask[Ref](ctx, sup, restartChild{id})
}

// DeleteChild removes a row in which nothing runs. Errors are ErrNotFound, ErrRunning,
// ErrRestarting, ErrSimpleOneForOne, ErrNotSupervisor, and the errors of Do.
func DeleteChild(ctx context.Context, sup Ref, id string) error {
	_, err := ask[struct{}](ctx, sup, deleteChild{id})
	return err
}

// ChildInfo describes one row for WhichChildren.
type ChildInfo struct {
	ID     string
	Ref    Ref
	Type   Type
	Status Status
}

// WhichChildren lists the rows of a supervisor in start order. Errors are ErrNotSupervisor and the
// errors of Do.
func WhichChildren(ctx context.Context, sup Ref) ([]ChildInfo, error) {
	return ask[[]ChildInfo](ctx, sup, whichChildren{})
}

// Counts is the result of CountChildren.
type Counts struct {
	Specs       int // rows; 1 for simple_one_for_one
	Active      int // rows in which something runs
	Supervisors int
	Workers     int
}

// CountChildren counts the rows of a supervisor. Errors are ErrNotSupervisor and the errors of Do.
func CountChildren(ctx context.Context, sup Ref) (Counts, error) {
	return ask[Counts](ctx, sup, countChildren{})
}

// StartChildAsync is StartChild from inside an actor. The outcome arrives as the message that wrap
// makes of it; wrap runs on the goroutine of p.
func StartChildAsync(p *Process, sup Ref, c Child, wrap func(Ref, error) any) {
	askAsync(p, sup, startChild{child: c}, wrap)
}

// StartChildArgsAsync is StartChildArgs from inside an actor; see StartChildAsync.
func StartChildArgsAsync(p *Process, sup Ref, id string, args any, wrap func(Ref, error) any) {
	askAsync(p, sup, startArgs{id: id, args: args}, wrap)
}

// TerminateChildAsync is TerminateChild from inside an actor; see StartChildAsync.
func TerminateChildAsync(p *Process, sup Ref, id string, wrap func(error) any) {
	askAsync(p, sup, terminateChild{id}, func(_ struct{}, err error) any { return wrap(err) })
}

// RestartChildAsync is RestartChild from inside an actor; see StartChildAsync.
func RestartChildAsync(p *Process, sup Ref, id string, wrap func(Ref, error) any) {
	askAsync(p, sup, restartChild{id}, wrap)
}

// DeleteChildAsync is DeleteChild from inside an actor; see StartChildAsync.
func DeleteChildAsync(p *Process, sup Ref, id string, wrap func(error) any) {
	askAsync(p, sup, deleteChild{id}, func(_ struct{}, err error) any { return wrap(err) })
}

// Requests that a supervisor takes, as Call[…].Req.
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

// ask sends a request to a supervisor and waits for the answer.
func ask[Resp, Req any](ctx context.Context, sup Ref, req Req) (Resp, error) {
	if err := isSupervisor(sup); err != nil {
		var zero Resp
		return zero, err
	}
	return do[Req, Resp](ctx, sup, req, nil) // StartTimeout and Shutdown bound it
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
