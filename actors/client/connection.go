// Package client holds the upstream connection: the actor that is an MCP client of one server. It
// dials, shakes hands, fetches the server's lists, writes calls and reads their answers. It does
// not know which programs or URLs exist, who may call, or how many servers are merged into one
// list. The dialer, the request manager and the catalogue know that.
//
// # Words
//
//   - An exchange is one request of a client, which has exactly one outcome; see package request.
//     The comments here also call it a call.
//   - There are two eras. A legacy server begins with a handshake (initialize). A modern server
//     (2026-07-28 and later) has none, and its requests are stateless.
//   - A question is a request of the server to a client, for example elicitation/create.
//   - Instances are connections to one server with the same key, for calls that must not be in
//     flight together at one of them. The first one, the primary, hands calls to the others.
//   - An incarnation is one run of the connection's actor between restarts. The carried state (the
//     type carry) is what an incarnation hands over to the next.
//   - A parked session is a session with a server that is kept without a connection.
package client

import (
	"errors"
	"time"

	"mcpd/actors/client/internal/era"
	"mcpd/actors/client/internal/questions"
	"mcpd/actors/internal/drops"
	"mcpd/actors/request"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/supervisor/otp"
)

// Connection is the behaviour of an upstream connection.
type Connection struct {
	otp.Base
	o Options
	p *otp.Process
	*carriedState

	self    *request.Holder // this incarnation, as the holder of calls
	attempt uint64          // number of the current server; messages of an earlier server are dropped
	server
	state     State
	started   time.Time
	peeked    *Ending // what a starting program has printed; nil if nothing
	ids       inflight.Counter
	dialogs   questions.Dialogs
	renewals  renewals     // paces new sessions after the server forgot one
	absence   absence      // how long a server behind a URL has been unreachable
	identity  era.Identity // detects that another server is behind the URL
	gaps      backoff
	admission admission
	until     time.Time   // the server is needed at least until then, because of its work or state
	linger    otp.Timer   // runs while nobody uses the connection
	closed    string      // why it was closed last, in one word
	gaveUp    bool        // it ends as if its restart budget had run out
	asks      bool        // the server may ask its clients something
	shown     Status      // what the tree shows
	drops     drops.Drops // counts messages of the server that nobody receives
}

// New returns one incarnation of a connection.
func New(o Options) *Connection {
	if o.Known == nil {
		o.Known = &SharedServerState{}
	}
	if o.QuestionWait == nil {
		o.QuestionWait = func() time.Duration { return protocol.QuestionWait }
	}
	return &Connection{o: o, asks: o.Declare.Fingerprint().AllowsServerRequests()}
}

// Init settles the calls that the previous incarnation had written and lost, and starts to dial.
func (c *Connection) Init(p *otp.Process) error {
	c.p, c.self = p, &request.Holder{Ref: p.Self(), Incarnation: p.Incarnation()}
	var ok bool
	if c.carriedState, ok = p.CarriedState().(*carriedState); ok {
		c.carriedState.resume(c.o)
	} else {
		c.carriedState = newCarriedState(c.o)
		p.SetCarriedState(c.carriedState)
		if c.o.Forgot != nil && p.Incarnation() > 1 {
			c.o.Forgot(p.Self())
		}
	}
	c.gaps = backoff{first: FirstGap, last: LastGap}
	c.renewals = renewals{
		backoff{first: FirstRenewalPause, last: MaxRenewalPause}, slidingLimit{of: c.o.Intensity},
	}
	if c.readyAt.IsZero() {
		c.readyAt = c.p.Now()
	}
	c.lost(c.o.Server, c.p.Now())
	for _, s := range sortedmap.Sorted(c.clients.here()) {
		p.Monitor(s.ref)
	}
	for ref := range c.instances.All() {
		p.Monitor(ref)
	}
	if c.primary != (otp.Ref{}) {
		p.Monitor(c.primary)
	}
	if c.removed && p.Incarnation() > 1 { // a removed server is not started again
		c.reset()
		return p.Post(Stop{Why: Removed(nil)})
	}
	c.begin(0)
	return nil
}

// Terminate releases what an incarnation holds and records why the incarnation ended.
func (c *Connection) Terminate(_ *otp.Process, reason error) {
	defer c.o.Known.markNotReady(c.p.Self())
	defer c.closeAll()
	c.linesEnd()
	c.dropLines()
	c.drops.End(c.o.Emit)
	if otp.IsNormal(reason) {
		c.endParked()
	}
	var ending *Ending
	// a built-in server that stops with the host
	if otp.IsNormal(reason) && !errors.As(reason, &ending) {
		for id := range c.questions.All() {
			c.dropQuestion(id)
		}
		return
	}
	cause := c.blame(reason)
	c.abandon(cause)
	if cause.Permanent {
		c.enter(Quarantined, cause)
	} else {
		c.enter(Backoff, cause)
	}
}

// enter publishes a state to the tree and the catalogue.
func (c *Connection) enter(s State, cause error) {
	c.state = s
	c.o.Known.markNotReady(c.p.Self())
	c.publish(cause, nil)
}
