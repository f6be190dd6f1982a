package request

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// A How is the way in which an exchange ended.
type Ending uint8

// The ways to end.
const (
	Answered  Ending = iota // by its server, or in its place
	Cancelled               // its client does not want it any more
	TimedOut
	Lost    // its server went away
	Refused // it was never accepted
)

// Outcome is the result or the error of an exchange.
type Outcome struct {
	Ending    Ending
	Result    jsontext.Value // as the client gets it
	Err       error          // set for an error; a *jsonrpc.Error passes unchanged
	Waited    time.Duration  // how long the server took; 0 if it got no request
	ToolError bool           // the result says isError
}

// failed reports whether the server did not execute the request successfully.
func (o *Outcome) failed() bool { return o.Err != nil || o.Ending != Answered }

// Settle gives the exchange its outcome. It reports false, and does nothing, when the exchange has
// one already. Even if code on the way panics, the client gets a response and the exchange leaves
// nothing behind.
func (x *Exchange) Settle(o Outcome) bool {
	if !x.claim(&o) {
		return false
	}
	t := x.table.Load()
	if t != nil {
		defer t.end(x, &o)
	}
	defer x.ended(o.failed())
	told := false
	defer func() {
		if !told { // a call below panicked, and is not repeated
			x.Sink.Finish(Failure(x.Downstream, x.ownError(o.Err), x.Version))
		}
	}()
	if t != nil {
		t.drop(x)
	}
	o.Err = x.Explain(o.Err)
	release(x, o.Ending)
	switch {
	case o.Ending == Cancelled && o.Err == nil: // its client waits for no response
		x.Sink.Finish(jsonrpc.Message{})
	default:
		if o.Err != nil && t != nil {
			t.o.Failed(protocol.CodeOf(o.Err, x.Version))
		}
		x.finish(o.Result, o.Err)
	}
	told = true
	finished(x)
	return true
}

// claim makes o the outcome of the exchange, unless it has one.
func (x *Exchange) claim(o *Outcome) bool {
	bits := uint32(over | settled)
	if o.Ending == Answered {
		bits |= answered
	}
	if o.failed() {
		bits |= failed
	}
	for {
		fate := x.state.Load()
		if fate&settled != 0 {
			return false
		}
		if x.state.CompareAndSwap(fate, fate|bits) {
			return true
		}
	}
}

// ownError returns an error of the host that needs no translation by the exchange's own functions.
func (x *Exchange) ownError(err error) error {
	if own, ok := errors.AsType[*protocol.Error](err); ok {
		return own
	}
	return protocol.InternalError(errCrashed).WithoutAnswer(x.Server,
		x.BeginEnd()).MarkRetryable(x.Method)
}

// errCrashed is the cause for an exchange whose outcome could not be delivered.
var errCrashed = errors.New("the outcome of the request could not be told")

// Lateness says in one word why an outcome came too late: "duplicate" if the exchange had a
// response already, "late" if it had ended otherwise.
func (x *Exchange) Lateness() string {
	if x.state.Load()&answered != 0 {
		return "duplicate"
	}
	return "late"
}

// ended tells the owner that the exchange has ended.
func (x *Exchange) ended(failed bool) {
	if l, ok := x.Owner.(Listener); ok {
		l.Ended(x, failed)
		return
	}
	// late: the exchange has its outcome, and the owner that counts it must be told.
	_ = x.Owner.Send(Done{Exchange: x, Failed: failed})
}
