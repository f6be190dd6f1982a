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
	"mcpd/protocol/terms"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Deliver is what a transport hands to a session's actor: one message of the client. Out is where a request's outcome goes; it is nil
// for everything else.
type Deliver struct {
	Message jsonrpc.Message
	Out     transport.Sink
	// Fields are the header fields that came with the message; nil where the transport has none.
	Fields headers.Lookup
	// Arrived is when an actor of the session first looked at a request; the deadline of what it asks counts from then. Zero for others.
	Arrived time.Time
	// Copied is how many bytes there are of it beside Message: those of a copy that is sent on. Its
	// actor sets it.
	Copied int

	// kept is what a large message counts for its tenant until an actor has looked at it, or keeps it.
	kept atomic.Pointer[quota.Reservation]

	handle  *Handle     // that delivers it
	to      otp.Ref     // the actor it was given to
	entered atomic.Bool // its handle counts it as on its way, until an actor has looked at it
	again   bool        // it was given to another before
	told    bool        // the client of a subscription has been told that it has one
	// Version is the revision that its client speaks.
	Version protocol.Version
}

// Acknowledge notes that the client of a subscription is told that it has one, and reports whether that is new: whichever actor it has, it
// hears so once. The subscription outlives the next crash too, because this actor had nothing against it.
func (d *Deliver) Acknowledge() (first bool) {
	first = !d.told
	d.told, d.again = true, false
	return first
}

// Acknowledged reports whether the client has been told.
func (d *Deliver) Acknowledged() bool { return d.told }

// Taken notes that an actor of the session has looked at the message: what comes of it, the session
// knows from there on.
func (d *Deliver) Taken() {
	d.Keep().Release()
	if d.entered.Swap(false) {
		d.handle.leave()
	}
}

// Keep hands over what the message counts for its tenant; nil when it is small, or somebody else
// counts it.
func (d *Deliver) Keep() *quota.Reservation { return d.kept.Swap(nil) }

// Counts reports whether the message counts for its tenant already.
func (d *Deliver) Counts() bool { return d.kept.Load() != nil }

// count begins to count a large message.
func (d *Deliver) count(kept *quota.Account) {
	n := len(d.Message.Params) + len(d.Message.Result) + d.Message.Error.Size()
	d.kept.Store(kept.Hold(quota.Requests, n))
}

// Fail answers the request when the actor could not handle it. One that the actor never looked at, because it crashed on another, is
// given to the session's next actor, once.
func (d *Deliver) Fail(err error) {
	_, greets := d.Out.(*greeting) // which no other actor can answer: what was agreed may be written down already
	if errors.Is(err, otp.ErrNoProc) && d.handle != nil && !d.again && !greets && !d.handle.closed.Load() {
		d.again = true
		if d.handle.manager.Send(&Undelivered{d}) == nil {
			return
		}
	}
	defer d.Taken()
	if d.Out == nil {
		return
	}
	why := protocol.InternalError(err)
	if h := d.handle; h != nil {
		_, sent := h.calls.Of(d.Out) // before the crash
		// A retry continues a call that has been with its server since before.
		sent = sent || mrtr.IsRetry(d.Message.Params)
		if down := h.Down(); down != nil { // which may have ended the session too
			d.Out.Finish(d.ended(down, sent))
			return
		}
		if told := (*protocol.Error)(nil); errors.As(err, &told) {
			why = told
		}
		if h.closed.Load() {
			why = protocol.SessionGone()
		}
		why = why.Unanswered(h.endpoint.Server, sent).Repeating(d.Message.Method)
	}
	d.Out.Finish(request.Failure(d.Message.ID, why, d.Version))
}

// The classes. A Deliver is ordinary: its client is told when it comes too fast.
//
//	Undelivered   owed: one for each Deliver that was accepted
//	Expired       owed: one for each session
//	Wake          owed: one for each session of an earlier host
//	Reconfigured, Reload   owed: one for each reload
//	Back          owed: one for each time that a client was silent
//	Stop, HangUp  owed: a few for each end of the listeners
func (*Undelivered) Class() otp.Class  { return otp.Owed }
func (*Expired) Class() otp.Class      { return otp.Owed }
func (*Wake) Class() otp.Class         { return otp.Owed }
func (Reconfigured) Class() otp.Class  { return otp.Owed }
func (ReloadRequest) Class() otp.Class { return otp.Owed }
func (Back) Class() otp.Class          { return otp.Owed }
func (Stop) Class() otp.Class          { return otp.Owed }
func (HangUp) Class() otp.Class        { return otp.Owed }
func (*Abandoned) Class() otp.Class    { return otp.Owed }

// OpenRequest asks the manager for a new session at an endpoint. The answer is its handle, or why there is none.
type OpenRequest struct {
	Endpoint streamable.Endpoint
	// Push sends the client what belongs to no exchange, on a transport that has one channel for everything. Nil keeps it for streams.
	Push func(jsonrpc.Message) error
	// Streams are the transport's own; nil stands for new ones.
	Streams *streamable.Streams
	// Peer is who the session is for when there is no handshake: it is the one session of that peer at the endpoint. Nil for a handshake.
	Peer *Peer
	// Terms make the session one client's own, with an id to present: it negotiated them instead of a handshake. Peer goes with it.
	Terms *terms.Client
	// Idle is how long the session lasts unused at most; 0 leaves it to the tenant.
	Idle time.Duration
}

// Peer is a client of a revision whose requests stand alone: each says what its client can. All requests of one principal that say the
// same, as far as it matters, are one peer's, however many clients send them. A peer is no session, and counts as none.
type Peer struct {
	Version      protocol.Version
	Capabilities protocol.ClientCapabilities
	// Meets are those of the capabilities which the tenant's policy asks for that its clients have.
	Meets string
	// Info is who all clients of the peer are taken for; zero for a peer that is told apart by its capabilities alone.
	Info protocol.Implementation
}

// MaxPeers bounds the peers of one principal of a tenant. An idle one makes room for another.
const MaxPeers = 256

// peerKey finds a peer's session. What it has of the capabilities is what somebody acts on: servers,
// by their fingerprint, and the tenant's policy. Clients that differ otherwise are one peer.
type peerKey struct {
	endpoint     streamable.Endpoint
	version      protocol.Version
	capabilities protocol.Fingerprint
	meets        string
	client       string
}

func (p *Peer) key(ep streamable.Endpoint) peerKey {
	f := p.Capabilities.Fingerprint()
	if ep.Server == "" { // the list of all servers has no other extensions
		f &^= protocol.OfOthers
	}
	return peerKey{ep, p.Version, f, p.Meets, p.Info.Name}
}

// Wake asks the manager for an actor behind the handle of a session that has had none in this host: its client is back.
type Wake struct{ Handle *Handle }

// AttachRequest asks the manager for a new actor behind a handle whose actor is gone. The answer is its address.
type AttachRequest struct {
	Handle *Handle
	Gone   otp.Ref // the actor that takes nothing any more
}

// Abandoned says that the client of the request which was delivered with Out has gone, which cancels the request in a revision without
// sessions (2026-07-28 §basic/patterns/cancellation).
type Abandoned struct{ Out transport.Sink }

// Undelivered asks the manager to give a message to the actor that comes after the one that left it behind. A Deliver sends it.
type Undelivered struct{ Deliver *Deliver }

// Fail answers the message: nobody is left to handle it.
func (u *Undelivered) Fail(err error) { u.Deliver.Fail(err) }

// CloseRequest ends a session. Closing one that is gone is no error.
type CloseRequest struct {
	Tenant string
	ID     string
	Reason telemetry.Closing
}

// Expired is what a session's actor is told when its session ends: it ends too.
type Expired struct{ Reason telemetry.Closing }

// The calls that a manager answers.
type (
	Open   = otp.Call[OpenRequest, *Handle]
	Attach = otp.Call[AttachRequest, otp.Ref]
	Close  = otp.Call[CloseRequest, struct{}]
	// Sweep asks for an expiry run now; the answer is how many sessions it ended (S3-38).
	Sweep = otp.Call[SweepRequest, int]
	// Reload asks the manager to let go of the sessions that nobody may use any more, to tell the others of servers that are not what they
	// were, and to look at its limits anew. Sessions that are to go may finish what they have in flight.
	Reload = otp.Call[ReloadRequest, struct{}]
)

// SweepRequest has no fields.
type SweepRequest struct{}

// ReloadRequest names the tenants whose servers are not what they were.
type ReloadRequest struct{ Changed map[string]bool }

// Back tells a session's actor that its client is back, after it had let go of servers.
type Back struct{}

// Stop tells a session's actor to refuse what it has neither answered nor passed on: the host is about to stop. The rest is the request
// manager's to answer. Subscriptions go on.
type Stop struct{}

// HangUp tells a session's actor to end the subscriptions that hold responses open too, politely: the listeners are about to stop.
type HangUp struct{}

// Reconfigured tells a session's actor that the tenant's servers are not what they were, which the catalogue knows already, or that the
// dispatcher does not know any more who listens to them.
type Reconfigured struct{}

// Args are what the actor of a session is started with.
type Args struct{ Handle *Handle }
