package session

import (
	"errors"
	"sync/atomic"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/negotiation"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Deliver is one message of the client that a transport hands to a session's actor. The outcome of
// a request goes to Out. For any other message Out is nil.
type Deliver struct {
	Message jsonrpc.Message
	Out     transport.Sink
	// Fields are the header fields that came with the message; nil where the transport has none.
	Fields headers.Lookup
	// Arrived is when an actor of the session first looked at a request. The request's deadline counts
	// from then. Zero for other messages.
	Arrived time.Time
	// Copied is the size in bytes of the copy of Message that is sent on. The actor sets it.
	Copied int

	// kept is the reservation of a large message in its tenant's quota, until an actor has looked at
	// the message or takes the reservation over.
	reservation atomic.Pointer[quota.Reservation]

	handle       *Handle     // the session that it is delivered to
	to           otp.Ref     // the actor it was sent to
	entered      atomic.Bool // the handle counts it as arriving, until an actor has looked at it
	redelivered  bool        // it was sent to another actor before
	acknowledged bool        // the client of a subscription was sent the acknowledgement
	// Version is the revision that the client speaks.
	Version protocol.Version
}

// Acknowledge notes that the client of a subscription is sent the acknowledgement. It returns true
// the first time only, so that a client gets only one even if the session's actor changes. After
// this the subscription survives the next crash too, because this actor did not crash on it.
func (d *Deliver) Acknowledge() (first bool) {
	first = !d.acknowledged
	d.acknowledged, d.redelivered = true, false
	return first
}

// Acknowledged reports whether the client was sent the acknowledgement.
func (d *Deliver) Acknowledged() bool { return d.acknowledged }

// Seen notes that an actor of the session has looked at the message. From here on the session
// tracks the work that the message causes.
func (d *Deliver) Seen() {
	d.TakeReservation().Release()
	if d.entered.Swap(false) {
		d.handle.leave()
	}
}

// TakeReservation hands over the message's reservation in its tenant's quota. It returns nil when
// the message is small, or the reservation was handed over before.
func (d *Deliver) TakeReservation() *quota.Reservation { return d.reservation.Swap(nil) }

// HasReservation reports whether the message has a reservation in its tenant's quota.
func (d *Deliver) HasReservation() bool { return d.reservation.Load() != nil }

// count reserves the size of a large message in its tenant's quota.
func (d *Deliver) count(account *quota.Account) {
	n := len(d.Message.Params) + len(d.Message.Result) + d.Message.Error.Size()
	d.reservation.Store(account.Count(quota.Requests, n))
}

// Fail answers the request when the actor could not handle it. If the actor crashed on another
// message before it looked at this one, the message is given to the session's next actor instead,
// once.
func (d *Deliver) Fail(err error) {
	// No other actor can answer initialize: the negotiated terms may already be stored.
	_, greets := d.Out.(*initializeSink)
	if errors.Is(err, otp.ErrNoProc) && d.handle != nil && !d.redelivered && !greets &&
		!d.handle.closed.Load() {
		d.redelivered = true
		if d.handle.manager.Send(&Undelivered{d}) == nil {
			return
		}
	}
	defer d.Seen()
	if d.Out == nil {
		return
	}
	refusal := protocol.InternalError(err)
	if h := d.handle; h != nil {
		_, sent := h.calls.Of(d.Out) // before the crash
		// A retry continues a call that reached its server before.
		sent = sent || mrtr.IsRetry(d.Message.Params)
		if down := h.Down(); down != nil { // which may have ended the session too
			d.Out.Finish(d.ended(down, sent))
			return
		}
		if told := (*protocol.Error)(nil); errors.As(err, &told) {
			refusal = told
		}
		if h.closed.Load() {
			refusal = protocol.SessionGone()
		}
		refusal = refusal.WithoutAnswer(h.endpoint.Server, sent).MarkRetryable(d.Message.Method)
	}
	d.Out.Finish(request.Failure(d.Message.ID, refusal, d.Version))
}

// The message classes. A Deliver is ordinary, so a client that sends too fast is told. The messages
// below are reserved:
//
//	Undelivered            one for each Deliver that was accepted
//	Expired                one for each session
//	Wake                   one for each session of an earlier host
//	Reconfigured, Reload   one for each reload
//	Back                   one for each time that a client was silent
//	Stop, HangUp           a few for each shutdown of the listeners
//	Abandoned              one for each request whose client has gone

func (*Undelivered) Class() otp.Class  { return otp.Reserved }
func (*Expired) Class() otp.Class      { return otp.Reserved }
func (*Wake) Class() otp.Class         { return otp.Reserved }
func (Reconfigured) Class() otp.Class  { return otp.Reserved }
func (ReloadRequest) Class() otp.Class { return otp.Reserved }
func (ClientBack) Class() otp.Class    { return otp.Reserved }
func (Stop) Class() otp.Class          { return otp.Reserved }
func (HangUp) Class() otp.Class        { return otp.Reserved }
func (*Abandoned) Class() otp.Class    { return otp.Reserved }

// OpenRequest asks the manager for a new session at an endpoint. The answer is its handle, or the
// reason why there is none.
type OpenRequest struct {
	Endpoint streamable.Endpoint
	// Push sends the client messages that belong to no exchange, on a transport that has one channel
	// for everything. With a nil Push they wait for streams.
	Push func(jsonrpc.Message) error
	// Streams are the transport's own streams; nil makes new ones.
	Streams *streamable.Streams
	// Peer identifies the client when there is no handshake. The session is the only one of that peer
	// at the endpoint. Nil for a session with a handshake.
	Peer *Peer
	// Negotiated is what was negotiated instead of a handshake. It makes the session one client's
	// own, with an id to present. Peer is set too.
	Negotiated *negotiation.Client
	// Idle is how long the session may stay unused; 0 means the tenant's limit.
	Idle time.Duration
}

// Peer is a client of a revision without sessions, in which each request declares the client's
// capabilities. All requests of one principal that declare the same, as far as it matters, belong
// to one peer, however many clients send them. A peer does not count as a session.
type Peer struct {
	Version      protocol.Version
	Capabilities protocol.ClientCapabilities
	// Required are the capabilities that the tenant's policy requires and that the peer's clients
	// have.
	Required string
	// Info identifies all clients of the peer. It is zero for a peer that is distinguished by its
	// capabilities only.
	Info protocol.Implementation
}

// MaxPeers bounds the peers of one principal of a tenant. At the bound an idle peer is ended to
// make room for another.
const MaxPeers = 256

// peerKey finds a peer's session. It contains only those capabilities that matter: to servers, by
// the fingerprint, and to the tenant's policy. Clients that differ in other capabilities are one
// peer.
type peerKey struct {
	endpoint     streamable.Endpoint
	version      protocol.Version
	capabilities protocol.Fingerprint
	required     string
	client       string
}

func (p *Peer) key(ep streamable.Endpoint) peerKey {
	f := p.Capabilities.Fingerprint()
	if ep.Server == "" { // the aggregate of all servers supports no other extensions
		f &^= protocol.OtherExtensions
	}
	return peerKey{ep, p.Version, f, p.Required, p.Info.Name}
}

// Wake asks the manager for an actor for a session that has had none in this host, because its
// client is back.
type Wake struct{ Handle *Handle }

// AttachRequest asks the manager for a new actor for a session whose actor is gone. The answer is
// its address.
type AttachRequest struct {
	Handle *Handle
	Gone   otp.Ref // the actor that accepts nothing any more
}

// Abandoned says that the client of the request that was delivered with Out has gone. In a revision
// without sessions this cancels the request (2026-07-28 §basic/patterns/cancellation).
type Abandoned struct{ Out transport.Sink }

// Undelivered asks the manager to give a message to the next actor of its session, because the
// previous one left it unhandled. Deliver.Fail sends it.
type Undelivered struct{ Deliver *Deliver }

// Fail fails the message, because no actor is left to handle it.
func (u *Undelivered) Fail(err error) { u.Deliver.Fail(err) }

// CloseRequest ends a session. It is no error if the session is already gone.
type CloseRequest struct {
	Tenant string
	ID     string
	Reason telemetry.Closing
}

// Expired tells a session's actor that its session has ended, so that the actor ends too.
type Expired struct{ Reason telemetry.Closing }

// The calls that the manager answers.
type (
	Open   = otp.Call[OpenRequest, *Handle]
	Attach = otp.Call[AttachRequest, otp.Ref]
	Close  = otp.Call[CloseRequest, struct{}]
	// Sweep asks for an expiry run now; the answer is how many sessions it ended (S3-38).
	Sweep = otp.Call[SweepRequest, int]
	// Reload tells the manager that the configuration has changed. The manager ends the sessions that
	// may no longer be used, after their requests in flight. It tells the other sessions which servers
	// have changed, and applies the new limits.
	Reload = otp.Call[ReloadRequest, struct{}]
)

// SweepRequest has no fields.
type SweepRequest struct{}

// ReloadRequest names the tenants whose servers have changed.
type ReloadRequest struct{ Changed map[string]bool }

// ClientBack tells a session's actor, which had released servers, that its client is back.
type ClientBack struct{}

// Stop tells a session's actor that the host is about to stop. The actor refuses every request that
// it has neither answered nor passed on. The request manager answers the rest. Subscriptions go on.
type Stop struct{}

// HangUp tells a session's actor to end also the subscriptions that hold responses open, each with
// a proper result, because the listeners are about to stop.
type HangUp struct{}

// Reconfigured tells a session's actor that the tenant's servers have changed, which the catalogue
// already knows, or that the dispatcher has lost its list of listeners.
type Reconfigured struct{}

// Args are the arguments with which the actor of a session is started.
type Args struct{ Handle *Handle }
