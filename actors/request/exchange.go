package request

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Owner is who an exchange belongs to, behind an address that stays good.
type Owner interface{ Send(msg any) error }

// Listener is an Owner that is not sent Done, but called: what it has to do for most exchanges is no
// message worth. Ended must not wait.
type Listener interface {
	Ended(x *Exchange, failed bool)
}

// Tenant is the tenant of an exchange.
type Tenant interface {
	// Down is why it does not run, and nil while it does.
	Down() *protocol.Error
}

// Renamer gives what a server says the names by which the client knows it.
type Renamer interface {
	Result(result jsontext.Value) jsontext.Value
	Error(data jsontext.Value) jsontext.Value // of an error
}

// Exchange is one downstream request from its arrival to its single outcome. The session that received the request makes it, and
// nobody changes it afterwards, so every actor on its way may read it. The outcome goes to Sink, which takes one and no more.
type Exchange struct {
	// ID is unique in this daemon and is what every actor calls the exchange by: clients reuse their own ids.
	ID uint64
	// Session is the row of the session in the tree, for cancellation by owner and for the log. It is not the session's secret id.
	Session string
	// Principal is on whose behalf it is asked.
	Principal string
	// Tenant says why the tenant does not run; nil is for one that always runs.
	Tenant Tenant
	// Owner is told Done when the exchange has ended, and is sent what the server asks the client meanwhile. It outlives the session's actor.
	Owner Owner
	// Client is who the client says it is, where the params do not say so; nil where that is not known.
	Client *protocol.Implementation
	// Downstream is the client's own id, restored on the outcome byte for byte.
	Downstream jsonrpc.ID

	// Server is the configured key of the upstream, and Upstream the connection that was chosen for it.
	Server   string
	Upstream otp.Ref
	// Method and Params are what the upstream is sent; names and URIs are its own already.
	Method string
	Params jsontext.Value
	// Beside is how many bytes are kept with it until its outcome, beside Params.
	Beside int
	// Level is the least severe log line that a request which stands alone wants, empty for none.
	Level string
	// Token is the client's progress token as it wrote it, empty when it asked for no progress.
	Token jsontext.Value

	Arrived time.Time
	// Timeout bounds the wait for the outcome in the request manager. Progress starts it anew, within MaxTimeout of the arrival.
	Timeout    time.Duration
	MaxTimeout time.Duration

	Sink transport.Sink
	// Names gives URIs of the upstream the names of the aggregate, in a result before it is put into
	// the words of the client's revision: an older one has links as texts. Nil keeps them.
	Names Renamer
	// Rewrite turns the result into what this client sees. Nil keeps it as it is.
	Rewrite func(jsontext.Value) jsontext.Value
	// Visit makes the result that sends the client's user to the pages without which an upstream ended the call (2025-11-25
	// §client/elicitation, -32042). Nil is for a client that is told of that by an error.
	Visit func(pages []mrtr.Input) (jsontext.Value, error)

	// Version is the revision the client speaks; it decides the shape of errors.
	Version protocol.Version
	// Uncounted says that the host asks it for a task, and that it is not one of its principal's
	// requests in flight: the task counts.
	Uncounted bool
	// Stays says that what the request begins at the server is asked about later, over the same
	// connection to it.
	Stays bool
	// Extended says that during the call the client may be sent what its server says of an extension.
	Extended bool
	// Transparent says that the client sees this one server as it is, so that notifications which
	// nobody declared are passed on too if the revisions of both ends are of one era.
	Transparent bool

	// Progress is how far the client knows the upstream to be. It is for the connection that the exchange is at.
	Progress protocol.Progress
	// fate is what has become of it: its bits are below. That one of them was set first is what makes
	// its outcome the only one.
	fate atomic.Uint32
	// counted says that it counts as in flight, and meter is where, as soon as Meters has looked.
	counted atomic.Bool
	meter   atomic.Pointer[telemetry.Requests]
	// held is who has looked at it last; nil: it waits in the mailbox of Upstream.
	held atomic.Pointer[Hold]
	// waits is why it was not written yet; nil where that is not known.
	waits atomic.Pointer[protocol.Error]
	// table is who counts it; nil before the manager has seen it.
	table atomic.Pointer[Table]
	// watch is how long it may still take. It is the table's.
	watch watch
	// submit and forward are the messages by which it is handed on: each is sent once, and lasts as
	// long as the exchange does.
	submit  Submit
	forward Forward
	// links are its places in lists, each of which has the lock for its own.
	links [lists]links
	// kept is what it counts for its tenant, until it has its outcome; nil before the manager has seen
	// it, unless its session counted it before.
	kept atomic.Pointer[quota.Reservation]
	own  quota.Reservation // what kept is where the manager counts it
}

// size is how many bytes the exchange keeps.
func (x *Exchange) size() int { return len(x.Params) + x.Beside }

// Count makes what a request has counted for its tenant while it waited the exchange's own, which the
// manager does not count again. It is for whoever submits the exchange.
func (x *Exchange) Count(r *quota.Reservation) {
	r.Resize(x.size())
	x.kept.Store(r)
}

// Answered counts an answer of n bytes until the client has it.
func (x *Exchange) Answered(n int) {
	if n >= transport.Large {
		x.kept.Load().Resize(x.size() + n)
	}
}

// The bits of an exchange's fate.
const (
	written   = 1 << iota // its server may have it
	over                  // it is going to have its outcome, and is not written any more
	settled               // it has its outcome
	answered              // which was an answer of its server
	failed                // and its server has not done what it was asked
	cancelled             // its client has cancelled it
	resent                // it was sent a second time
	executed              // a server that died since may have executed it
)

// Hold is an incarnation of a connection, which has exchanges in hand. With Incarnation 0 they wait in the mailbox, which outlives whoever is stuck.
type Hold struct {
	Ref         otp.Ref
	Incarnation uint64
}

// Take is called by the incarnation of a connection that looks at the exchange for the first time, and by one that hands it on.
func (x *Exchange) Take(h *Hold) { x.held.Store(h) }

// Held is who has the exchange in hand: its connection, or one that this has handed it to.
func (x *Exchange) Held() Hold {
	if h := x.held.Load(); h != nil {
		return *h
	}
	return Hold{Ref: x.Upstream}
}

// Write claims the exchange for its connection, which is about to write it. It reports false when the exchange has ended: then it must not be
// written any more, because its caller may have been told that it was not.
func (x *Exchange) Write() bool {
	for {
		switch fate := x.fate.Load(); {
		case fate&over != 0:
			return false
		case x.fate.CompareAndSwap(fate, fate|written):
			return true
		}
	}
}

// Waits says why the exchange was not written yet, which its client is told if it ends before it is.
func (x *Exchange) Waits(why *protocol.Error) { x.waits.Store(why) }

// WaitsFor is what Waits has said last; nil for nothing.
func (x *Exchange) WaitsFor() *protocol.Error { return x.waits.Load() }

// Unwrite takes the claim back: no byte of the exchange was written, unless to a server that died.
func (x *Exchange) Unwrite() {
	if !x.Executed() {
		x.fate.And(^uint32(written))
	}
}

// Resend notes that it is sent a second time. It is sent no third time.
func (x *Exchange) Resend() { x.fate.Or(resent) }

// Resent reports whether it was sent a second time.
func (x *Exchange) Resent() bool { return x.fate.Load()&resent != 0 }

// Outlive notes that it is sent a second time because the server died that may have executed it.
func (x *Exchange) Outlive() { x.fate.Or(resent | executed) }

// Executed reports whether a server that died may have executed it.
func (x *Exchange) Executed() bool { return x.fate.Load()&executed != 0 }

// Over claims the exchange for its end, and reports whether it was claimed for its connection before: then its server may have executed it,
// otherwise it never will.
func (x *Exchange) Over() (maybeExecuted bool) { return x.fate.Or(over)&written != 0 }

// Broken ends the exchange, whose outcome a crash has taken, and is what its client is told: as of every other end without an answer, whether its
// server may have executed it.
func (x *Exchange) Broken(why error) error {
	if down := x.down(); down != nil && otp.IsGone(why) {
		return down.Cut(x.Server, x.Over()).Repeating(x.Method)
	}
	return protocol.InternalError(why).Unanswered(x.Server, x.Over()).Repeating(x.Method)
}

func (x *Exchange) down() *protocol.Error {
	if x.Tenant == nil {
		return nil
	}
	return x.Tenant.Down()
}

// Explain says what the client is told of an error: that its tenant is down, where it has lost its
// server because of that.
func (x *Exchange) Explain(err error) error {
	if err == nil || protocol.ConditionOf(err) != protocol.ConditionUpstreamLost {
		return err
	}
	if down := x.down(); down != nil {
		return down.Cut(x.Server, x.Over()).Repeating(x.Method)
	}
	return err
}

// Ended reports whether it was claimed for its end.
func (x *Exchange) Ended() bool { return x.fate.Load()&over != 0 }

// Failed reports whether its server has not done what it was asked. It means something once the
// exchange is settled.
func (x *Exchange) Failed() bool { return x.fate.Load()&failed != 0 }

// Cancel notes that its client has cancelled it, and reports whether this is the first time. A client
// may say so as often as it likes.
func (x *Exchange) Cancel() bool { return x.fate.Or(cancelled)&cancelled == 0 }

// Cancelled reports whether its client has cancelled it.
func (x *Exchange) Cancelled() bool { return x.fate.Load()&cancelled != 0 }

// Settled reports whether it has its outcome.
func (x *Exchange) Settled() bool { return x.fate.Load()&settled != 0 }

// finish gives the client the outcome: err when it is set, result otherwise.
func (x *Exchange) finish(result jsontext.Value, err error) bool {
	if err == nil {
		return x.Sink.Finish(jsonrpc.Response(x.Downstream, result))
	}
	m := Failure(x.Downstream, x.Explain(err), x.Version)
	if x.Names != nil && len(m.Error.Data) > 0 {
		told := *m.Error // the server's own may be in the log
		told.Data = x.Names.Error(told.Data)
		m.Error = &told
	}
	return x.Sink.Finish(m)
}

// Failure is the error response for err as a client of revision v expects it. An error that a server answered with passes as it is, unless
// it is only the cause of one of ours: why its server could not be used.
func Failure(id jsonrpc.ID, err error, v protocol.Version) jsonrpc.Message {
	if own, ok := err.(*protocol.Error); ok { // as most are: there is nothing to search
		return jsonrpc.Failure(id, protocol.Translate(own, v))
	}
	var own *protocol.Error
	var answered *jsonrpc.Error
	if !errors.As(err, &own) && errors.As(err, &answered) {
		return jsonrpc.Failure(id, answered)
	}
	return jsonrpc.Failure(id, protocol.Translate(err, v))
}
