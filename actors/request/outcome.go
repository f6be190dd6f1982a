package request

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// How says how an exchange ended.
type How uint8

// The ways to end.
const (
	Answered  How = iota // by its server, or by whoever answers for it
	Cancelled            // who asked does not want it any more
	TimedOut
	Lost    // its server went away
	Refused // it was never taken on
)

// Outcome is what becomes of an exchange.
type Outcome struct {
	How       How
	Result    jsontext.Value // as the client is to see it
	Err       error          // set: the outcome is an error; a *jsonrpc.Error is passed as the server wrote it
	Waited    time.Duration  // how long the server took; 0 when it was not asked
	ToolError bool           // the result says isError
}

// failed reports whether the server did not do what it was asked.
func (o *Outcome) failed() bool { return o.Err != nil || o.How != Answered }

// Settle gives the exchange its outcome, and reports false when it has one already: then nothing
// comes of this. Whatever crashes on the way, the client is answered and nothing of it stays behind.
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
		if !told { // somebody crashes of it, who is not asked again
			x.Sink.Finish(Failure(x.Downstream, x.plainly(o.Err), x.Version))
		}
	}()
	if t != nil {
		t.drop(x)
	}
	o.Err = x.Explain(o.Err)
	release(x, o.How)
	switch {
	case o.How == Cancelled && o.Err == nil: // its client waits for no answer
		x.Sink.Finish(jsonrpc.Message{})
	default:
		if o.Err != nil && t != nil {
			t.o.Failed(protocol.CodeOf(o.Err, x.Version))
		}
		x.finish(o.Result, o.Err)
	}
	told = true
	remembered(x)
	return true
}

// claim makes an outcome the one that the exchange has, unless it has one.
func (x *Exchange) claim(o *Outcome) bool {
	bits := uint32(over | settled)
	if o.How == Answered {
		bits |= answered
	}
	if o.failed() {
		bits |= failed
	}
	for {
		fate := x.fate.Load()
		if fate&settled != 0 {
			return false
		}
		if x.fate.CompareAndSwap(fate, fate|bits) {
			return true
		}
	}
}

// plainly is an error that needs nobody to put it into other words: one of the host's own.
func (x *Exchange) plainly(err error) error {
	if own, ok := errors.AsType[*protocol.Error](err); ok {
		return own
	}
	return protocol.InternalError(errCrashed).Unanswered(x.Server, x.Over()).Repeating(x.Method)
}

// errCrashed is why an exchange ends whose outcome could not be told.
var errCrashed = errors.New("the outcome of the request could not be told")

// Lateness says why an outcome came to nothing, in one word: the exchange was answered before, or it
// had ended otherwise.
func (x *Exchange) Lateness() string {
	if x.fate.Load()&answered != 0 {
		return "duplicate"
	}
	return "late"
}

// ended tells the owner.
func (x *Exchange) ended(failed bool) {
	if l, ok := x.Owner.(Listener); ok {
		l.Ended(x, failed)
		return
	}
	// late: the exchange has its outcome, and who counts it must hear so.
	_ = x.Owner.Send(Done{Exchange: x, Failed: failed})
}
