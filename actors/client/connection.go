// Package client holds the upstream connection: the actor that is an MCP client towards one server.
// It dials, shakes hands, learns the server's lists, writes calls and reads their answers. It does
// not know which programs or URLs there are, who may call, or how many servers make one list; a
// dialer, the request manager and the catalogue do.
package client

import (
	"errors"
	"time"

	"mcpd/actors/client/internal/era"
	"mcpd/actors/client/internal/questions"
	"mcpd/actors/internal/drops"
	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/supervisor/otp"
)

// Connection is the behaviour of an upstream connection.
type Connection struct {
	otp.Base
	o Options
	p *otp.Process
	*carry

	self    *request.Hold // this incarnation, as who has calls in hand
	attempt uint64        // counts the servers, so that what is late of one is told from the next
	server
	state    State
	started  time.Time
	peeked   *Ending // what a starting program has printed; nil for nothing
	ids      inflight.Counter
	dialogs  questions.Dialogs
	renewals renewals     // of sessions that the server forgot
	absence  absence      // of a server behind a URL
	identity era.Identity // of that server
	gaps     pace
	turns    turns
	until    time.Time   // the server is needed at least, because of what it did or holds
	linger   otp.Timer   // while nobody uses the connection
	closed   string      // why it was closed last, in a word
	gaveUp   bool        // it ends, as one whose restart budget ran out
	asks     bool        // the server may ask its clients something
	shown    Status      // what the tree shows
	drops    drops.Drops // of what the server sent and nobody gets
}

// New makes one incarnation.
func New(o Options) *Connection {
	if o.Known == nil {
		o.Known = &Known{}
	}
	if o.QuestionWait == nil {
		o.QuestionWait = func() time.Duration { return protocol.QuestionWait }
	}
	return &Connection{o: o, asks: o.Declare.Fingerprint().Asks()}
}

// Init answers what the previous incarnation had written and lost, and starts to dial.
func (c *Connection) Init(p *otp.Process) error {
	c.p, c.self = p, &request.Hold{Ref: p.Self(), Incarnation: p.Incarnation()}
	var ok bool
	if c.carry, ok = p.Heir().(*carry); ok {
		c.carry.resume(c.o)
	} else {
		c.carry = newCarry(c.o)
		p.SetHeir(c.carry)
		if c.o.Forgot != nil && p.Incarnation() > 1 {
			c.o.Forgot(p.Self())
		}
	}
	c.gaps = pace{first: FirstGap, last: LastGap}
	c.renewals = renewals{
		pace{first: FirstRenewal, last: LastRenewal}, allowance{of: c.o.Intensity},
	}
	if c.readyAt.IsZero() {
		c.readyAt = c.p.Now()
	}
	c.lost(c.o.Server, c.p.Now())
	for _, s := range order.Of(c.clients.here()) {
		p.Monitor(s.ref)
	}
	for ref := range c.instances.All() {
		p.Monitor(ref)
	}
	if c.primary != (otp.Ref{}) {
		p.Monitor(c.primary)
	}
	if c.removed && p.Incarnation() > 1 { // it is not started again
		c.reset()
		return p.Post(Stop{Why: Removed(nil)})
	}
	c.begin(0)
	return nil
}

// Terminate is where every incarnation ends, and where it is remembered why.
func (c *Connection) Terminate(_ *otp.Process, reason error) {
	defer c.o.Known.isNot(c.p.Self())
	defer c.closeAll()
	c.linesEnd()
	c.dropLines()
	c.drops.End(c.o.Emit)
	if otp.IsNormal(reason) {
		c.endParked()
	}
	var why *Ending
	if otp.IsNormal(reason) && !errors.As(reason, &why) { // a built-in server that stops with the host
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
	c.o.Known.isNot(c.p.Self())
	c.publish(cause, nil)
}
