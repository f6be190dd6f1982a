package client

import (
	"cmp"
	"errors"
	"time"

	"mcpd/actors/client/internal/era"
	"mcpd/actors/client/internal/instances"
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/elicitation"
	"mcpd/supervisor/otp"
)

// carry is what a connection leaves to its next incarnation: the calls nobody has answered, what
// clients had asked of the server, and who uses it. It is the heir of the connection's row, and
// changed in place.
type carry struct {
	o Options
	// queue holds calls of which no byte was written, because the connection is not ready or it is
	// not their turn: they are safe to send to the next incarnation.
	queue []*request.Exchange
	// written holds calls whose bytes the server may have acted on: they die with the incarnation
	// that wrote them.
	written *request.List
	// clients use this connection.
	clients clients
	// interest is what they want to hear of.
	interest interest.Table
	// earlyKept counts the questions that wait for the first session.
	earlyKept *quota.Reservation
	// served is whose calls the server was given.
	served served
	// elicitations are the pages that sessions were asked to visit, and have not heard the end of.
	elicitations elicitation.Table[request.Owner]
	// untold are notifications of clients that wait until the server is ready.
	untold []*Tell
	// listing is what the server lists.
	listing listing
	// factCuts are what exceeded the bounds of the handshake.
	factCuts []catalog.Cut
	// instances are those that this connection hands calls; primary is who hands them to this one,
	// if it is such an instance, and last how many those were.
	instances instances.Table[otp.Ref]
	primary   otp.Ref
	last      uint64
	// retired says that the server is declared otherwise now: this connection ends when it is not
	// used any more.
	retired bool
	// removed says that the server is not declared any more: it is not started again.
	removed bool
	// keptFor is the session for which this connection is kept although its client is away.
	keptFor otp.Ref
	// parked is a session with the server that has no connection; nil for none.
	parked *parked
	// told is what the server was told that its clients can do.
	told protocol.ClientCapabilities
	// past is what the next handshake begins with.
	past era.Past
	// cause is how the last incarnation ended; incident is the one that lasts until the server is
	// ready, empty while it is.
	cause    error
	incident string
	lostAt   time.Time
	// quiet says that the incident is told already: all connections to a URL share it. readyAt is when
	// the connection was made, or was ready last.
	quiet   bool
	readyAt time.Time
	fails   failures
}

func newCarry(o Options) *carry {
	c := &carry{
		o:       o,
		written: &request.List{Of: request.OfConnection},
		told:    o.Declare, clients: clients{},
	}
	left := cmp.Or(o.Restore, &Left{})
	c.clients.regain(left)
	c.interest = interest.New(o.Kept.Hold(quota.Subscriptions, 0), left.URIs, left.Levels)
	c.earlyKept = o.Kept.Hold(quota.Questions, 0)
	return c
}

// resume goes on after a crash.
func (c *carry) resume(o Options) {
	c.o = o
	c.instances.Resume()
	c.listing.resume()
}

// modern reports whether callers speak a revision without handshake, in which the server is asked
// first.
func (c *carry) modern() bool {
	return c.o.Key.Modern || c.o.Restore != nil && c.o.Restore.Modern
}

// pop takes the first call out of the queue, which keeps nothing of it: a call may be of megabytes.
func (c *carry) pop() *request.Exchange {
	x := c.queue[0]
	c.queue[0] = nil
	if c.queue = c.queue[1:]; len(c.queue) == 0 {
		c.queue = nil
	}
	return x
}

// full reports whether no more calls may wait.
func (c *carry) full() bool { return len(c.queue) >= c.o.Pending() }

// Abandon answers everything: there will be no next incarnation.
func (c *carry) Abandon(reason error) {
	c.earlyKept.Release()
	if c.cause == nil {
		c.cause = reason
	}
	withheld := withholding{}
	for _, x := range c.written.All() {
		c.written.Remove(x)
		complete(x, nil, withheld.lost(c.o.Server, x, true, c.cause))
	}
	for _, x := range c.queue {
		complete(x, nil, withheld.lost(c.o.Server, x, x.Executed(), c.cause))
	}
	c.queue = nil
	withheld.tell(c.o)
	c.dropTells()
	c.interest.Abandon(reason)
	if c.clients.attached() > 0 && !errors.Is(reason, otp.ErrStuck) {
		// what one knew that was stuck may be long ago: its sessions have been asked, by Forgotten
		left := &Left{
			Server: c.o.Server, Key: c.o.Key, Declare: c.told, Self: c.o.Self,
			URIs: c.interest.Resources(), Levels: c.interest.Levels(),
			Modern: c.modern(),
		}
		c.clients.leave(left)
		left.Bytes = left.size()
		_ = c.o.Catalog.Send(left)
	}
}

// regain takes back what this connection knew before its heir was given up.
func (c *Connection) regain(left *Left) {
	for _, ref := range c.clients.regain(left) {
		c.p.Monitor(ref)
	}
	if len(left.URIs) > 0 {
		c.wake()
	}
	c.interested(interest.Event{Op: interest.Regain, Resources: left.URIs, Levels: left.Levels})
	c.linger.Stop()
}
