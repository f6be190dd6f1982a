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

// Owner is the session or the task that an exchange belongs to, behind an address that stays valid.
type Owner interface{ Send(msg any) error }

// Listener is an Owner that is called instead of being sent Done: for most exchanges it has too
// little to do for a message. Ended must not wait.
type Listener interface {
	Ended(x *Exchange, failed bool)
}

// Tenant is the tenant of an exchange.
type Tenant interface {
	// Down returns why the tenant does not run, nil while it does.
	Down() *protocol.Error
}

// Renamer replaces names in a server's output by the names that the client knows.
type Renamer interface {
	Result(result jsontext.Value) jsontext.Value
	Error(data jsontext.Value) jsontext.Value // of the data of an error
}

// Exchange is one downstream request from its arrival to its single outcome. The session that
// received the request makes it; a task makes its own. The exported fields, except Progress, do not
// change afterwards, so every actor on its way may read them. Sink takes the one outcome.
type Exchange struct {
	// ID is unique in this daemon, and identifies the exchange to every actor: clients reuse their own
	// ids.
	ID uint64
	// Session is the row of the session in the tree, for cancellation by session and for the log. It
	// is not the session's secret id.
	Session string
	// Principal is the authenticated user of the request.
	Principal string
	// Tenant reports why the tenant does not run; nil is for one that always runs.
	Tenant Tenant
	// Owner is sent Done when the exchange has ended, unless it is a Listener. Before that it is sent
	// the server's requests to the client. Its address outlives the actor behind it.
	Owner Owner
	// Client is the client's description of itself, if the params do not contain it; nil if it is not
	// known.
	Client *protocol.Implementation
	// Downstream is the client's own id, which the outcome carries byte for byte.
	Downstream jsonrpc.ID

	// Server is the configured key of the upstream, and Upstream the connection chosen for it.
	Server   string
	Upstream otp.Ref
	// Method and Params are sent to the upstream; names and URIs are the upstream's own already.
	Method string
	Params jsontext.Value
	// ExtraBytes is how many bytes the exchange keeps until its outcome, in addition to Params.
	ExtraBytes int
	// Level is the least severe log level that a stateless request wants, empty for none.
	Level string
	// Token is the client's progress token as the client wrote it, empty when it asked for no
	// progress.
	Token jsontext.Value

	Arrived time.Time
	// Timeout bounds the wait for the outcome in the request manager. Progress restarts it, up to
	// MaxTimeout after the arrival.
	Timeout    time.Duration
	MaxTimeout time.Duration

	Sink transport.Sink
	// Names replaces the upstream's URIs by the names of the aggregate, in a result before it is
	// translated to the client's revision, because older revisions have links as texts. Nil keeps
	// them.
	Names Renamer
	// Rewrite translates the result for this client. Nil keeps it as it is.
	Rewrite func(jsontext.Value) jsontext.Value
	// Visit makes the result that asks the client's user to visit the pages without which an upstream
	// has ended the call (2025-11-25 §client/elicitation, -32042). Nil is for a client that gets an
	// error instead.
	Visit func(pages []mrtr.Input) (jsontext.Value, error)

	// Version is the client's revision; it decides the shape of errors.
	Version protocol.Version
	// Uncounted says that the host sends the request for a task, and that it does not count as one of
	// its principal's requests in flight: the task counts.
	Uncounted bool
	// NeedsConnection says that the request begins something at the server that is asked about later,
	// over the same connection.
	NeedsConnection bool
	// Extended says that the client may be sent the server's extension messages during the call.
	Extended bool
	// Transparent says that the client sees this one server unchanged. Then undeclared notifications
	// are passed on too, if the revisions of both ends are of one era.
	Transparent bool

	// Progress is the last progress that the client was told. Only the connection that holds the
	// exchange uses it.
	Progress protocol.Progress
	// state holds the state bits below. The caller that sets the settled bit first delivers the only
	// outcome.
	state atomic.Uint32
	// counted says that the exchange counts as in flight. meter is the meter that counts it, once
	// Meters.Begin has run.
	counted atomic.Bool
	meter   atomic.Pointer[telemetry.Requests]
	// held is the connection that handled it last; nil while it waits in the mailbox of Upstream.
	held atomic.Pointer[Holder]
	// waits is the reason why it was not written yet; nil if that is not known.
	waits atomic.Pointer[protocol.Error]
	// table is the table that counts it; nil before the manager has seen it.
	table atomic.Pointer[Table]
	// watch is the time that it has left. It belongs to the table.
	watch timeouts
	// submit and forward are the messages that hand the exchange on. Each is sent once, and lasts as
	// long as the exchange does.
	submit  Submit
	forward Forward
	// links are its places in lists. Each is guarded by the lock of its list.
	links [lists]links
	// kept is the exchange's reservation in its tenant's byte budget, until the outcome. It is nil
	// before the manager has seen the exchange, unless the session has counted it earlier.
	reservation atomic.Pointer[quota.Reservation]
	own         quota.Reservation // the value of kept if the manager reserves
}

// size returns how many bytes the exchange keeps.
func (x *Exchange) size() int { return len(x.Params) + x.ExtraBytes }

// Count adopts the reservation that the request has made for its tenant while it waited. The
// manager then makes none of its own. It is called before the exchange is submitted.
func (x *Exchange) Count(r *quota.Reservation) {
	r.Resize(x.size())
	x.reservation.Store(r)
}

// Answered adds a response of n bytes to the reservation, until the client has it. A response of
// less than transport.Large bytes is not counted.
func (x *Exchange) Answered(n int) {
	if n >= transport.Large {
		x.reservation.Load().Resize(x.size() + n)
	}
}

// The bits of Exchange.fate.
const (
	written   = 1 << iota // its server may have received it
	over                  // it will get its outcome, and must not be written any more
	settled               // it has its outcome
	answered              // the outcome came from its server
	failed                // its server has not executed the request successfully
	cancelled             // its client has cancelled it
	resent                // it was retried
	executed              // a server that has died since may have executed it
)

// Holder is an incarnation of a connection that has exchanges in hand. With Incarnation 0 they wait
// in the connection's mailbox, which outlives a stuck incarnation.
type Holder struct {
	Ref         otp.Ref
	Incarnation uint64
}

// SetHolder sets the holder. The incarnation of a connection that handles the exchange for the
// first time calls it, and so does one that hands it on.
func (x *Exchange) SetHolder(h *Holder) { x.held.Store(h) }

// Holder returns the holder of the exchange: its connection, or another one that it was handed to.
func (x *Exchange) Holder() Holder {
	if h := x.held.Load(); h != nil {
		return *h
	}
	return Holder{Ref: x.Upstream}
}

// Write claims the exchange for its connection, which is about to write it. It reports false when
// the exchange has ended. Then it must not be written any more, because its caller may have been
// told that it was not.
func (x *Exchange) Write() bool {
	for {
		switch fate := x.state.Load(); {
		case fate&over != 0:
			return false
		case x.state.CompareAndSwap(fate, fate|written):
			return true
		}
	}
}

// Waits records why the exchange was not written yet. Its client is told the reason if the exchange
// ends before it is written.
func (x *Exchange) Waits(refusal *protocol.Error) { x.waits.Store(refusal) }

// WaitsFor returns the reason that Waits recorded last; nil for none.
func (x *Exchange) WaitsFor() *protocol.Error { return x.waits.Load() }

// Unwrite takes the claim back: no byte of the exchange was written, except to a server that died.
func (x *Exchange) Unwrite() {
	if !x.Executed() {
		x.state.And(^uint32(written))
	}
}

// Resend records that the exchange is retried. It is retried once at most.
func (x *Exchange) Resend() { x.state.Or(resent) }

// Resent reports whether it was retried.
func (x *Exchange) Resent() bool { return x.state.Load()&resent != 0 }

// ResendAfterDeath records that it is retried because its server, which may have executed it, has
// died.
func (x *Exchange) ResendAfterDeath() { x.state.Or(resent | executed) }

// Executed reports whether a server that died may have executed it.
func (x *Exchange) Executed() bool { return x.state.Load()&executed != 0 }

// BeginEnd marks the exchange as ending, and reports whether a connection had claimed it before. If
// so, its server may have executed it; otherwise no server ever will.
func (x *Exchange) BeginEnd() (maybeExecuted bool) { return x.state.Or(over)&written != 0 }

// Broken ends an exchange whose outcome was lost to a crash, and returns the error for its client.
// As for every end without a response, the error says whether the server may have executed the
// request.
func (x *Exchange) Broken(cause error) error {
	if down := x.down(); down != nil && otp.IsGone(cause) {
		return down.EndedBeforeAnswer(x.Server, x.BeginEnd()).MarkRetryable(x.Method)
	}
	return protocol.InternalError(cause).WithoutAnswer(x.Server, x.BeginEnd()).MarkRetryable(x.Method)
}

func (x *Exchange) down() *protocol.Error {
	if x.Tenant == nil {
		return nil
	}
	return x.Tenant.Down()
}

// Explain returns the error for the client. If err says that the exchange has lost its server, and
// the tenant is down, Explain returns an error that says that the tenant is down. Otherwise it
// returns err.
func (x *Exchange) Explain(err error) error {
	if err == nil || protocol.ConditionOf(err) != protocol.ConditionUpstreamLost {
		return err
	}
	if down := x.down(); down != nil {
		return down.EndedBeforeAnswer(x.Server, x.BeginEnd()).MarkRetryable(x.Method)
	}
	return err
}

// Ended reports whether BeginEnd was called.
func (x *Exchange) Ended() bool { return x.state.Load()&over != 0 }

// Failed reports whether its server did not execute the request successfully. It is valid once the
// exchange is settled.
func (x *Exchange) Failed() bool { return x.state.Load()&failed != 0 }

// Cancel records that its client has cancelled it, and reports whether this is the first time. A
// client may cancel repeatedly.
func (x *Exchange) Cancel() bool { return x.state.Or(cancelled)&cancelled == 0 }

// Cancelled reports whether its client has cancelled it.
func (x *Exchange) Cancelled() bool { return x.state.Load()&cancelled != 0 }

// Settled reports whether it has its outcome.
func (x *Exchange) Settled() bool { return x.state.Load()&settled != 0 }

// finish sends the client the outcome: err when it is set, result otherwise.
func (x *Exchange) finish(result jsontext.Value, err error) bool {
	if err == nil {
		return x.Sink.Finish(jsonrpc.Response(x.Downstream, result))
	}
	m := Failure(x.Downstream, x.Explain(err), x.Version)
	if x.Names != nil && len(m.Error.Data) > 0 {
		told := *m.Error // the log may hold the server's own
		told.Data = x.Names.Error(told.Data)
		m.Error = &told
	}
	return x.Sink.Finish(m)
}

// Failure returns the error response for err, as a client of revision v expects it. A server's own
// error passes unchanged, unless it is only the cause of an error of the host: the reason why the
// server could not be used.
func Failure(id jsonrpc.ID, err error, v protocol.Version) jsonrpc.Message {
	if own, ok := err.(*protocol.Error); ok { // the usual case: no chain to search
		return jsonrpc.Failure(id, protocol.Translate(own, v))
	}
	var own *protocol.Error
	var answered *jsonrpc.Error
	if !errors.As(err, &own) && errors.As(err, &answered) {
		return jsonrpc.Failure(id, answered)
	}
	return jsonrpc.Failure(id, protocol.Translate(err, v))
}
