package client

import (
	"context"
	"time"

	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// A session whose client is gone, or says nothing for long, lets go of its servers. A connection that
// several share loses one of those who use it. The connection of that session alone ends, unless its
// server keeps state for the session: then the session with the server is parked. Nothing is left of
// it but its id, until the client is back or its session ends. Clients lose nothing, because the next
// connection goes on with the server's session.

// Release tells the connection that a session whose client says nothing needs it no more. Attach
// takes it back. The catalogue sends it.
type Release struct{ Ref otp.Ref }

// Class lets it in however full the mailbox is: it is one for each time that a client is silent.
func (Release) Class() otp.Class { return otp.Owed }

// parked is a session with a server that has no connection.
type parked struct {
	session string
	facts   Facts
}

// parkRetry is when it is looked again whether a connection can be closed that has something in hand,
// such as the end of its subscriptions.
const parkRetry = 5 * time.Second

// Why a connection was closed that was in order, as operators read it.
const (
	closedIdle     = "idle_stop"     // nothing needed it
	closedReleased = "idle_release"  // it served one session, whose client is away
	closedUnused   = "unused"        // no session uses it, or listens to it
	closedInstance = "idle_instance" // an instance beyond the first had no call
)

// parkDue says that it is.
type parkDue struct{}

// sessions is the part of a transport whose sessions outlive its connections.
type sessions interface {
	Leave() (session string)
	Take(session string)
	Resume(session string)
}

// letGo lets go of a session, with what it has subscribed to.
func (c *Connection) letGo(ref otp.Ref) {
	keeps := c.o.Key.Share == tenant.BySession && c.keepsSession()
	c.detach(ref)
	if keeps {
		c.keptFor = ref
		c.linger.Stop()
		c.park()
	}
}

// keepsSession reports whether the server keeps state for the session that uses this connection, as far as can be known.
func (c *Connection) keepsSession() bool {
	return c.parked != nil || c.clients.hold() ||
		c.state == Ready && c.facts.Version.Era() == protocol.Legacy && !c.info().Stateless
}

// keptForAway reports whether the connection is kept for a session whose client is away.
func (c *Connection) keptForAway() bool { return c.keptFor != (otp.Ref{}) && !c.retired }

// park closes the connection for a session whose client is away as soon as it has nothing in hand.
// One of HTTP+SSE stays, because its session would end with it.
func (c *Connection) park() {
	c.parking.Stop()
	if !c.keptForAway() || c.state != Ready || c.info().Transport == transport.SSE {
		return
	}
	if c.o.Idle > 0 {
		c.staysAwakeAfter(c.way.usedLast(), c.o.Idle)
	}
	if c.needed() || c.until.After(c.p.Now()) {
		c.parking = c.p.After(parkRetry, parkDue{})
		return
	}
	c.sleep(closedReleased)
}

// sleep closes the connection to a server that nothing needs. A session that outlives it is parked.
func (c *Connection) sleep(why string) {
	if c.closed = why; why == closedIdle {
		c.tellAsleep()
	} else {
		c.tellReleased()
	}
	for _, l := range c.listens {
		l.timer.Stop()
	}
	if up, ok := transport.As[sessions](c.up); ok && c.facts.Version.Era() == protocol.Legacy {
		if id := up.Leave(); id != "" {
			c.parked = &parked{id, c.facts}
		}
	}
	c.leave()
	c.reset()
	c.enter(Stopped, nil)
}

// goOn goes on with the session that was parked. It reports false when there is none.
func (c *Connection) goOn() bool {
	p := c.parked
	c.parked = nil
	up, ok := transport.As[sessions](c.up)
	if p == nil || !ok {
		return false
	}
	c.resumed = true
	c.agreed(p.facts)
	up.Resume(p.session)
	return true
}

// endParked ends a session that was parked, at its server too.
func (c *Connection) endParked() {
	p := c.parked
	c.parked = nil
	if p == nil {
		return
	}
	up, err := c.o.Dial(context.WithoutCancel(c.p.Context()), c.p.Self()) // which sends nothing yet
	if err != nil {
		return
	}
	if to, ok := transport.As[sessions](up); ok {
		up.Negotiated(p.facts.Version)
		to.Take(p.session)
	}
	c.o.Close(up)
}
