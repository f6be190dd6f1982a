package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/terms"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Handle is one downstream session as its transport holds it: an address that stays good while the actor behind it crashes and is
// attached anew. It is also the session's heir: what a new actor needs to carry on is in Record. It is safe for concurrent use.
type Handle struct {
	id       string
	row      string
	endpoint streamable.Endpoint
	opened   time.Time
	streams  *streamable.Streams
	channel  bool                        // of an earlier host, over HTTP+SSE
	push     func(jsonrpc.Message) error // of a transport that has no streams; nil for those that have
	peer     *peerKey                    // of a session without a handshake
	terms    *terms.Client               // of a session that was negotiated
	idle     time.Duration               // how long it lasts unused at most; 0 leaves it to the tenant
	clock    clock.Clock
	manager  otp.Ref
	storage  otp.Ref // who writes the session down; zero for nobody
	index    *Index
	told     []told // what servers are told of it; the index guards it

	ref    atomic.Pointer[otp.Ref]
	record atomic.Pointer[Record]
	// counted is what it counts for its tenant, until it is no longer in the index.
	counted atomic.Pointer[quota.Reservation]
	// last is when the peer was last heard of, in nanoseconds of clock.Steady.
	last atomic.Int64
	// noted is last as it was written down, and grain how far the two may be apart; 0 for a session that
	// does not survive the host.
	noted, grain atomic.Int64
	keeping      sync.Mutex // held while the session is written down

	closed atomic.Bool
	ending atomic.Bool // the manager is going to end it
	// begun says that there was an initialize, and greeted that it was answered with a result.
	begun, greeted atomic.Bool
	// asleep says that it was opened in an earlier host and has had no actor in this one, and waking that it is going to have one.
	asleep, waking atomic.Bool
	// letGo says that its actor has let go of servers, because its client was silent.
	letGo     atomic.Bool
	listening atomic.Bool // its actor wants to hear of every call that ends
	calls     Calls
	questions Questions
	waiting   atomic.Int64 // requests that its actor has neither answered nor passed on
	arriving  atomic.Int64 // messages that no actor has looked at; see enter
	listens   atomic.Int64 // subscriptions that are streams of their own
	// crashed is when its actor last did, and pause how long the next one waited then. They are the manager's.
	crashed time.Time
	pause   time.Duration
}

// Record is what survives the actor of a session: what was negotiated and what the client asked for. A Record is not changed once it
// is stored; the actor stores a new one.
type Record struct {
	Version      protocol.Version
	Capabilities protocol.ClientCapabilities
	Offered      protocol.ServerCapabilities // what the session goes by: see Recorded
	Withheld     []string                    // capabilities that the host kept back from the client then
	Client       protocol.Implementation
	Ready        bool   // the client has sent notifications/initialized, or a request that counts as it
	Level        string // that the client set by logging/setLevel; empty when it did not
	URIs         []Subscription
}

// Subscription is a resource that the client wants to hear of.
type Subscription struct {
	Server string
	URI    string // as the client names it
	Own    string // as the server does
	// Asking is the exchange that asks the server for it, 0 once the server has agreed.
	Asking uint64
}

// ID is the session's secret: whoever presents it with the right credentials is its client.
func (h *Handle) ID() string { return h.id }

// Row is the session's id in the tree and the log. It tells nothing about ID.
func (h *Handle) Row() string { return h.row }

// Endpoint is where the session was opened; it answers nowhere else.
func (h *Handle) Endpoint() streamable.Endpoint { return h.endpoint }

// IsPeer reports whether the session is one that no client named: it has no id that anybody could present.
func (h *Handle) IsPeer() bool { return h.peer != nil }

// Terms is what the session's client negotiated, nil for a session that began otherwise.
func (h *Handle) Terms() *terms.Client { return h.terms }

// Serving reports whether the session has had an actor and is not closed.
func (h *Handle) Serving() bool { return h.ref.Load() != nil && !h.closed.Load() }

// Streamed reports whether the transport has streams, and so may deliver messages in another order than they were sent.
func (h *Handle) Streamed() bool { return h.push == nil }

// Transport names the transport.
func (h *Handle) Transport() string {
	switch {
	case !h.Streamed():
		return "stdio"
	case h.streams.Channel():
		return transport.SSE
	}
	return "streamable"
}

// Streams is the transport's own state of the session.
func (h *Handle) Streams() *streamable.Streams { return h.streams }

// Record is what the session's actor stored last, nil before the handshake.
func (h *Handle) Record() *Record { return h.record.Load() }

// Store replaces the record. Only the session's actor calls it.
func (h *Handle) Store(r *Record) {
	h.record.Store(r)
	h.counted.Load().Resize(h.size())
	h.keep()
}

// Version is the negotiated revision; the zero Version before the handshake.
func (h *Handle) Version() protocol.Version {
	if r := h.record.Load(); r != nil {
		return r.Version
	}
	return 0
}

// Opened is when the session was opened.
func (h *Handle) Opened() time.Time { return h.opened }

// LastActive is when the peer was last heard of.
func (h *Handle) LastActive() time.Time { return clock.Hour(h.clock.Now(), h.last.Load()) }

// Closed reports whether the session has ended for good.
func (h *Handle) Closed() bool { return h.closed.Load() }

// Calls are the client's requests that are on their way to servers.
func (h *Handle) Calls() *Calls { return &h.calls }

// Questions are what servers have asked the client.
func (h *Handle) Questions() *Questions { return &h.questions }

// Waits notes that the session's actor holds so many requests more, or fewer, which it has neither answered nor passed on.
func (h *Handle) Waits(more int) { h.waiting.Add(int64(more)) }

// Listens notes how many subscriptions its actor has that are streams of their own.
func (h *Handle) Listens(n int) { h.listens.Store(int64(n)) }

// Subscriptions is what the client wants to hear of: resources, and streams of their own.
func (h *Handle) Subscriptions() int {
	n := int(h.listens.Load())
	if r := h.record.Load(); r != nil {
		n += len(r.URIs)
	}
	return n
}

// InFlight reports whether a request has no outcome yet, be it on its way to a server or not. Subscriptions do not count: they end when
// somebody ends them.
func (h *Handle) InFlight() bool { return h.waiting.Load() > 0 || h.calls.Len() > 0 }

// Touch notes that the peer is alive. So that idle times go on over a restart of the host, it also
// writes that down, but once in a grain only: not for each request.
func (h *Handle) Touch() {
	now := clock.Steady(h.clock.Now())
	h.last.Store(now)
	if grain, noted := h.grain.Load(), h.noted.Load(); grain > 0 && now-noted >= grain && h.noted.CompareAndSwap(noted, now) {
		h.keep()
	}
}

// Idle is how long the peer has not been heard of.
func (h *Handle) Idle(now time.Time) time.Duration {
	return time.Duration(clock.Steady(now) - h.last.Load())
}

// LetGo notes that the session's actor is to be told when its client is back.
func (h *Handle) LetGo() { h.letGo.Store(true) }

// Wake sees to it that a session from an earlier host has an actor, for what servers announce to be heard by its client, and
// that one whose client was silent makes its connections again.
func (h *Handle) Wake() {
	if h.letGo.Load() && h.letGo.Swap(false) {
		_ = h.Send(Back{})
	}
	if h.asleep.Load() && !h.waking.Swap(true) {
		_ = h.manager.Send(&Wake{h})
	}
}

// Push sends the client a message that belongs to no exchange.
func (h *Handle) Push(m jsonrpc.Message) error {
	if h.push != nil {
		return h.push(m)
	}
	return h.streams.Push(m)
}

// Call is Deliver for a request of a peer, with the header fields that came with it.
func (h *Handle) Call(ctx context.Context, m jsonrpc.Message, fields headers.Lookup, out transport.Sink) error {
	return h.deliver(ctx, &Deliver{Message: m, Fields: fields, Out: out})
}

// Deliver hands a message to the session's actor. When the actor is gone, the manager attaches a new one first.
func (h *Handle) Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error {
	return h.deliver(ctx, &Deliver{Message: m, Out: out})
}

func (h *Handle) deliver(ctx context.Context, d *Deliver) error {
	if h.closed.Load() {
		return h.gone()
	}
	if err := h.index.take(&d.Message, h.clock.Now()); err != nil {
		return err
	}
	if !h.enter() {
		return h.gone()
	}
	d.handle = h
	d.entered.Store(true)
	if large(d.Message) {
		d.count(h.index.account(h.endpoint.Tenant))
	}
	g := h.greet(d)
	err := h.hand(ctx, d)
	if err != nil {
		if down := h.Down(); down != nil { // whatever has come of that meanwhile
			err = down
		}
		d.Taken()
		if g != nil {
			g.refuse()
		}
	}
	return err
}

// gone is what whoever comes to a session that has ended is told. A peer's clients know of no session,
// and the next request makes another peer.
func (h *Handle) gone() error {
	if down := h.Down(); down != nil { // which may have ended the session too
		return down
	}
	if h.peer != nil {
		return protocol.Unready("what serves clients of this kind", time.Second)
	}
	return streamable.ErrNoSession
}

// hand is deliver for a session that has not ended.
func (h *Handle) hand(ctx context.Context, d *Deliver) error {
	if down := h.Down(); down != nil {
		return down
	}
	d.Version, d.to = h.Version(), h.actor()
	err := d.to.Send(d)
	if !errors.Is(err, otp.ErrNoProc) {
		return refuse(err)
	}
	if h.closed.Load() {
		return h.gone()
	}
	ref, err := otp.Do[AttachRequest, otp.Ref](ctx, h.manager, AttachRequest{Handle: h, Gone: d.to})
	if err != nil {
		return h.unattached(err)
	}
	d.to = ref
	if err = ref.Send(d); errors.Is(err, otp.ErrNoProc) && !h.closed.Load() { // it crashed again at once; the session is still there
		return protocol.Overloaded("session", time.Second)
	}
	return refuse(err)
}

// unattached is why a session has no actor, as its client is told. The session is still there when
// its tenant, or the manager, is paused.
func (h *Handle) unattached(err error) error {
	if err = h.Explain(err); !h.closed.Load() && errors.Is(err, otp.ErrNoProc) {
		return protocol.Overloaded("tenant "+h.endpoint.Tenant, time.Second)
	}
	return refuse(err)
}

// refuse turns a refusal of the actor runtime into the condition a client is told.
func refuse(err error) error {
	switch {
	case errors.Is(err, otp.ErrOverloaded):
		return protocol.Overloaded("session", time.Second)
	case errors.Is(err, otp.ErrNoProc):
		return streamable.ErrNoSession
	}
	return err
}

// Send hands any message to the session's actor, whichever it is now.
func (h *Handle) Send(msg any) error { return h.actor().Send(msg) }

// Ended notes that a call has ended: no crash of the actor makes it count for ever. The actor hears of
// it where it wants to.
func (h *Handle) Ended(x *request.Exchange, failed bool) {
	h.calls.all.Remove(x)
	if x.Method == "resources/subscribe" || h.listening.Load() {
		_ = h.Send(request.Done{Exchange: x, Failed: failed})
	}
}

// Listen says whether the session's actor wants to hear of every call that ends. One that has ended
// before is not told any more: the actor looks for those itself, after this.
func (h *Handle) Listen(on bool) { h.listening.Store(on) }

// actor is the address of the session's actor, zero before the first.
func (h *Handle) actor() otp.Ref {
	if ref := h.ref.Load(); ref != nil {
		return *ref
	}
	return otp.Ref{}
}

// Cancel ends the request that was delivered with out: its client waits for it no more.
func (h *Handle) Cancel(out transport.Sink) { _ = h.Send(&Abandoned{Out: out}) }

// Close ends the session for good. Its id is unknown from here on, whatever becomes of the manager meanwhile: who asked may never come back
// to ask again.
func (h *Handle) Close(ctx context.Context) error {
	const why = telemetry.ClosedByClient
	if _, err := otp.Do[CloseRequest, struct{}](ctx, h.manager, CloseRequest{Tenant: h.endpoint.Tenant, ID: h.id, Reason: why}); err != nil {
		h.over(why)
	}
	return nil
}

// over makes the session unknown at once, and has the manager end it.
func (h *Handle) over(why telemetry.Closing) {
	h.closed.Store(true)
	h.End(why)
}
