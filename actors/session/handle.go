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
	"mcpd/protocol/negotiation"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Handle is one downstream session as its transport holds it: an address that stays valid while the
// actor behind it crashes and is replaced. The state that a new actor needs to continue is in
// Record. A Handle is safe for concurrent use.
type Handle struct {
	id          string
	row         string
	endpoint    streamable.Endpoint
	opened      time.Time
	streams     *streamable.Streams
	channel     bool                        // the session comes from an earlier host, over HTTP+SSE
	push        func(jsonrpc.Message) error // for a transport without streams; nil otherwise
	peer        *peerKey                    // for a session without a handshake
	negotiated  *negotiation.Client         // for a session that was negotiated
	idle        time.Duration               // longest unused time; 0 means the tenant's limit
	clock       clock.Clock
	manager     otp.Ref
	storage     otp.Ref // the actor that stores the session; zero for none
	index       *Index
	grantedSets []grantedSet // capabilities that servers are told of; guarded by the index

	ref    atomic.Pointer[otp.Ref]
	record atomic.Pointer[Record]
	// reservation is the session's quota reservation. It lasts until the session leaves the index.
	reservation atomic.Pointer[quota.Reservation]
	// last is when the client was last heard of, in nanoseconds of clock.SteadyNanos.
	last atomic.Int64
	// storedLast is the stored value of last, and grain is how far the two may be apart. Both are 0
	// for a session that does not survive the host.
	storedLast, grain atomic.Int64
	keeping           sync.Mutex // held while the session is stored

	closed atomic.Bool
	ending atomic.Bool // the manager is going to end the session
	// initializing says that an initialize arrived, and initialized that it was answered with a
	// result.
	initializing, initialized atomic.Bool
	// dormant says that the session was opened in an earlier host and has had no actor in this one.
	// wakeRequested says that an actor was requested.
	dormant, wakeRequested atomic.Bool
	// released says that the actor has released servers, because the client was silent.
	released    atomic.Bool
	listening   atomic.Bool // the actor wants to be told of every call that ends
	calls       Calls
	questions   Questions
	waiting     atomic.Int64 // requests that the actor has neither answered nor passed on
	undelivered atomic.Int64 // messages that no actor has looked at; see enter
	listens     atomic.Int64 // subscriptions that are streams of their own
	// crashed is when the actor last ended before its session, and pause is how long its successor
	// waited. Both belong to the manager.
	crashed time.Time
	pause   time.Duration
}

// Record is the state that survives the actor of a session: the negotiated terms and the client's
// subscriptions. A stored Record is never changed; the actor stores a new one.
type Record struct {
	Version      protocol.Version
	Capabilities protocol.ClientCapabilities
	Offered      protocol.ServerCapabilities // capabilities that apply to the session: see ForStorage
	// capabilities that the host withheld from the client at the handshake
	Withheld []string
	Client   protocol.Implementation
	// The client has sent notifications/initialized, or a request that counts as it.
	Ready bool
	Level string // set by the client with logging/setLevel; empty if it was not
	URIs  []Subscription
}

// Subscription is a resource whose changes the client wants to hear of.
type Subscription struct {
	Server string
	URI    string // the client's name of the resource
	Own    string // the server's name of it
	// Asking is the exchange that asks the server for the subscription, 0 once the server has agreed.
	Asking uint64
}

// ID returns the session's secret. A client that presents it with the right credentials owns the
// session.
func (h *Handle) ID() string { return h.id }

// Row returns the session's id in the tree and in the log. It reveals nothing about ID.
func (h *Handle) Row() string { return h.row }

// Endpoint returns the endpoint at which the session was opened. The session answers at no other
// endpoint.
func (h *Handle) Endpoint() streamable.Endpoint { return h.endpoint }

// IsPeer reports whether the session is a peer, which has no id that a client could present.
func (h *Handle) IsPeer() bool { return h.peer != nil }

// Negotiated returns what the session's client negotiated, nil for a session that began otherwise.
func (h *Handle) Negotiated() *negotiation.Client { return h.negotiated }

// Serving reports whether the session has had an actor and is not closed.
func (h *Handle) Serving() bool { return h.ref.Load() != nil && !h.closed.Load() }

// Streamed reports whether the transport has streams, and so may deliver messages out of order.
func (h *Handle) Streamed() bool { return h.push == nil }

// Transport returns the name of the session's transport: "stdio", "streamable" or transport.SSE.
func (h *Handle) Transport() string {
	switch {
	case !h.Streamed():
		return "stdio"
	case h.streams.Channel():
		return transport.SSE
	}
	return "streamable"
}

// Streams returns the transport's own state of the session.
func (h *Handle) Streams() *streamable.Streams { return h.streams }

// Record returns the record that the session's actor stored last, nil before the handshake.
func (h *Handle) Record() *Record { return h.record.Load() }

// Store replaces the record. Only the session's actor calls it.
func (h *Handle) Store(r *Record) {
	h.record.Store(r)
	h.reservation.Load().Resize(h.size())
	h.storeAsync()
}

// Version returns the negotiated revision, the zero Version before the handshake.
func (h *Handle) Version() protocol.Version {
	if r := h.record.Load(); r != nil {
		return r.Version
	}
	return 0
}

// Opened returns when the session was opened.
func (h *Handle) Opened() time.Time { return h.opened }

// LastActive returns when the client was last heard of.
func (h *Handle) LastActive() time.Time { return clock.WallTime(h.clock.Now(), h.last.Load()) }

// Closed reports whether the session has ended for good.
func (h *Handle) Closed() bool { return h.closed.Load() }

// Calls returns the client's requests that are on their way to servers.
func (h *Handle) Calls() *Calls { return &h.calls }

// Questions returns the open questions of servers to the client.
func (h *Handle) Questions() *Questions { return &h.questions }

// AddWaiting adds more to the number of requests that the session's actor has neither answered nor
// passed on. A negative more lowers it.
func (h *Handle) AddWaiting(more int) { h.waiting.Add(int64(more)) }

// SetListens sets how many subscriptions of the session are streams of their own.
func (h *Handle) SetListens(n int) { h.listens.Store(int64(n)) }

// Subscriptions returns the number of the client's subscriptions: resources, and streams of their
// own.
func (h *Handle) Subscriptions() int {
	n := int(h.listens.Load())
	if r := h.record.Load(); r != nil {
		n += len(r.URIs)
	}
	return n
}

// InFlight reports whether a request has no outcome yet, whether or not it is on its way to a
// server. Subscriptions do not count, because they have no end of their own.
func (h *Handle) InFlight() bool { return h.waiting.Load() > 0 || h.calls.Len() > 0 }

// Touch notes that the client is alive. It also stores the time, at most once per grain, so that
// idle times continue over a restart of the host.
func (h *Handle) Touch() {
	now := clock.SteadyNanos(h.clock.Now())
	h.last.Store(now)
	if grain, noted := h.grain.Load(), h.storedLast.Load(); grain > 0 && now-noted >= grain &&
		h.storedLast.CompareAndSwap(noted, now) {
		h.storeAsync()
	}
}

// Idle returns the time since the client was last heard of.
func (h *Handle) Idle(now time.Time) time.Duration {
	return time.Duration(clock.SteadyNanos(now) - h.last.Load())
}

// MarkReleased notes that the session's actor is to be told when its client is back.
func (h *Handle) MarkReleased() { h.released.Store(true) }

// Wake gives a session from an earlier host an actor, so that its client gets the notifications of
// servers. If the client was silent, Wake has the actor make its connections again.
func (h *Handle) Wake() {
	if h.released.Load() && h.released.Swap(false) {
		_ = h.Send(ClientBack{})
	}
	if h.dormant.Load() && !h.wakeRequested.Swap(true) {
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
func (h *Handle) Call(ctx context.Context, m jsonrpc.Message, fields headers.Lookup,
	out transport.Sink) error {
	return h.deliver(ctx, &Deliver{Message: m, Fields: fields, Out: out})
}

// Deliver hands a message to the session's actor. If the actor is gone, the manager first attaches
// a new one.
func (h *Handle) Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error {
	return h.deliver(ctx, &Deliver{Message: m, Out: out})
}

func (h *Handle) deliver(ctx context.Context, d *Deliver) error {
	if h.closed.Load() {
		return h.goneError()
	}
	if err := h.index.take(&d.Message, h.clock.Now()); err != nil {
		return err
	}
	if !h.enter() {
		return h.goneError()
	}
	d.handle = h
	d.entered.Store(true)
	if large(d.Message) {
		d.count(h.index.account(h.endpoint.Tenant))
	}
	g := h.wrapInitialize(d)
	err := h.sendDeliver(ctx, d)
	if err != nil {
		if down := h.Down(); down != nil { // this explains the failure better, whatever its direct cause
			err = down
		}
		d.Seen()
		if g != nil {
			g.refuse()
		}
	}
	return err
}

// goneError returns the error for a message to a session that has ended. A peer's clients know of
// no session; their next request makes another peer.
func (h *Handle) goneError() error {
	if down := h.Down(); down != nil { // which may have ended the session too
		return down
	}
	if h.peer != nil {
		return protocol.Starting("the actor for clients of this kind", time.Second)
	}
	return streamable.ErrNoSession
}

// sendDeliver is deliver for a session that has not ended.
func (h *Handle) sendDeliver(ctx context.Context, d *Deliver) error {
	if down := h.Down(); down != nil {
		return down
	}
	d.Version, d.to = h.Version(), h.actor()
	err := d.to.Send(d)
	if !errors.Is(err, otp.ErrNoProc) {
		return refuse(err)
	}
	if h.closed.Load() {
		return h.goneError()
	}
	ref, err := otp.Do[AttachRequest, otp.Ref](ctx, h.manager, AttachRequest{Handle: h, Gone: d.to})
	if err != nil {
		return h.unattached(err)
	}
	d.to = ref
	// The new actor crashed at once; the session is still there.
	if err = ref.Send(d); errors.Is(err, otp.ErrNoProc) && !h.closed.Load() {
		return protocol.Overloaded("session", time.Second)
	}
	return refuse(err)
}

// unattached explains to the client why its session has no actor. The session still exists while
// its tenant, or the manager, is paused.
func (h *Handle) unattached(err error) error {
	if err = h.Explain(err); !h.closed.Load() && errors.Is(err, otp.ErrNoProc) {
		return protocol.Overloaded("tenant "+h.endpoint.Tenant, time.Second)
	}
	return refuse(err)
}

// refuse turns a refusal of the actor runtime into the condition that a client is told.
func refuse(err error) error {
	switch {
	case errors.Is(err, otp.ErrOverloaded):
		return protocol.Overloaded("session", time.Second)
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.Starting("the session", time.Second)
	case errors.Is(err, otp.ErrNoProc):
		return streamable.ErrNoSession
	}
	return err
}

// Send hands any message to the session's current actor.
func (h *Handle) Send(msg any) error { return h.actor().Send(msg) }

// Ended notes that a call has ended, so that a crash of the actor cannot make the call count for
// ever. It tells the actor if the actor wants to know.
func (h *Handle) Ended(x *request.Exchange, failed bool) {
	h.calls.all.Remove(x)
	if x.Method == "resources/subscribe" || h.listening.Load() {
		_ = h.Send(request.Done{Exchange: x, Failed: failed})
	}
}

// ReportCallEnds says whether the session's actor wants to be told of every call that ends. Calls
// that have ended before are not reported: the actor looks for them itself after this call.
func (h *Handle) ReportCallEnds(on bool) { h.listening.Store(on) }

// actor returns the address of the session's actor, zero before the first.
func (h *Handle) actor() otp.Ref {
	if ref := h.ref.Load(); ref != nil {
		return *ref
	}
	return otp.Ref{}
}

// Cancel ends the request that was delivered with out, because its client no longer waits for it.
func (h *Handle) Cancel(out transport.Sink) { _ = h.Send(&Abandoned{Out: out}) }

// Close ends the session for good. The id is invalid from here on, even if the manager fails,
// because the client may never come back to ask again.
func (h *Handle) Close(ctx context.Context) error {
	const why = telemetry.ClosedByClient
	if _, err := otp.Do[CloseRequest, struct{}](ctx, h.manager,
		CloseRequest{Tenant: h.endpoint.Tenant, ID: h.id, Reason: why}); err != nil {
		h.invalidate(why)
	}
	return nil
}

// invalidate invalidates the session at once, and has the manager end it.
func (h *Handle) invalidate(cause telemetry.Closing) {
	h.closed.Store(true)
	h.End(cause)
}
