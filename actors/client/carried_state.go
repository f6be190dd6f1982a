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

// carriedState is the carried state of a connection: the calls that nobody has answered, what
// clients had asked of the server, and who uses the connection. The connection's row keeps it for
// the next incarnation. It is changed in place.
type carriedState struct {
	o Options
	// queue holds calls of which no byte was written, because the connection is not ready or it is not
	// their turn. The next incarnation can send them safely.
	queue []*request.Exchange
	// written holds calls whose bytes the server may have acted on. They end with the incarnation that
	// wrote them.
	written *request.List
	// clients are the users of this connection.
	clients clients
	// interest holds the subscriptions and the log levels of the clients.
	interest interest.Table
	// earlyKept is the memory reservation of the questions that wait for the first session.
	earlyKept *quota.Reservation
	// served records whose calls the server was given.
	served servedPrincipals
	// elicitations are the pages that sessions were asked to visit, and whose end they have not been
	// toldCapabilities.
	elicitations elicitation.Table[request.Owner]
	// pendingNotifications are notifications of clients that wait until the server is ready.
	pendingNotifications []*ClientNotification
	// listing is what the server lists.
	listing listing
	// factCuts are the facts of the handshake that exceeded their bounds.
	factCuts []catalog.Cut
	// instances are the connections that this one hands calls to. If this connection is such an
	// instance itself, primary is the connection that hands it calls, and last the number of calls
	// handed so far.
	instances instances.Table[otp.Ref]
	primary   otp.Ref
	last      uint64
	// retired says that the declaration of the server has changed: this connection ends once it is
	// unused.
	retired bool
	// removed says that the server is no longer declared: it is not started again.
	removed bool
	// keptFor is the session for which this connection is kept while its client is away.
	keptFor otp.Ref
	// parked is a session with the server that has no connection; nil for none.
	parked *parked
	// toldCapabilities are the client capabilities that the server was told.
	toldCapabilities protocol.ClientCapabilities
	// past is what the next handshake starts from.
	past era.Past
	// cause is how the last incarnation ended. incident lasts from there until the server is ready,
	// and is empty while it is.
	cause    error
	incident string
	lostAt   time.Time
	// quiet says that the incident was reported already, because all connections to a URL share it.
	// readyAt is when the connection was last ready, or else when it was made.
	quiet   bool
	readyAt time.Time
	fails   failures
}

func newCarriedState(o Options) *carriedState {
	c := &carriedState{
		o:                o,
		written:          &request.List{Of: request.ConnectionList},
		toldCapabilities: o.Declare, clients: clients{},
	}
	abandoned := cmp.Or(o.Restore, &AbandonedState{})
	c.clients.restore(abandoned)
	c.interest = interest.New(o.Kept.Count(quota.Subscriptions, 0), abandoned.URIs, abandoned.Levels)
	c.earlyKept = o.Kept.Count(quota.Questions, 0)
	return c
}

// resume prepares the state for an incarnation after a crash.
func (c *carriedState) resume(o Options) {
	c.o = o
	c.instances.Resume()
	c.listing.resume()
}

// modern reports whether callers speak a revision without a handshake. The server is then asked in
// such a revision first.
func (c *carriedState) modern() bool {
	return c.o.Key.Modern || c.o.Restore != nil && c.o.Restore.Modern
}

// pop takes the first call out of the queue, and clears its slot: a call may be of megabytes.
func (c *carriedState) pop() *request.Exchange {
	x := c.queue[0]
	c.queue[0] = nil
	if c.queue = c.queue[1:]; len(c.queue) == 0 {
		c.queue = nil
	}
	return x
}

// full reports whether no more calls may wait.
func (c *carriedState) full() bool { return len(c.queue) >= c.o.Pending() }

// Abandon answers everybody who waits: there will be no next incarnation.
func (c *carriedState) Abandon(reason error) {
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
	c.dropNotifications()
	c.interest.Abandon(reason)
	if c.clients.attached() > 0 && !errors.Is(reason, otp.ErrStuck) {
		// Not for a stuck incarnation: its knowledge may be old, and UsersForgotten has asked its
		// sessions.
		abandoned := &AbandonedState{
			Server: c.o.Server, Key: c.o.Key, Declare: c.toldCapabilities, Self: c.o.Self,
			URIs: c.interest.Resources(), Levels: c.interest.Levels(),
			Modern: c.modern(),
		}
		c.clients.leave(abandoned)
		abandoned.Bytes = abandoned.size()
		_ = c.o.Catalog.Send(abandoned)
	}
}

// restoreAbandoned restores what this connection knew before its carried state was given up.
func (c *Connection) restoreAbandoned(abandoned *AbandonedState) {
	for _, ref := range c.clients.restore(abandoned) {
		c.p.Monitor(ref)
	}
	if len(abandoned.URIs) > 0 {
		c.wake()
	}
	c.stepInterest(interest.Event{
		Op: interest.Recover, Resources: abandoned.URIs, Levels: abandoned.Levels,
	})
	c.linger.Stop()
}
