package client

import (
	"context"
	"time"

	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// A session whose client is gone, or silent for long, releases its servers. A shared connection
// loses one of its users. A connection of that session alone ends, unless its server keeps state
// for the session: then the session with the server is parked. Only its id is kept, until the
// client is back or its session ends. Clients lose nothing, because the next connection resumes the
// server's session.

// Release tells the connection that a session whose client is silent needs it no longer. Attach
// takes that back. The catalogue sends it.
type Release struct{ Ref otp.Ref }

// Class returns otp.Reserved (reserved), so a full mailbox does not refuse the message: there is
// one for each time that a client falls silent.
func (Release) Class() otp.Class { return otp.Reserved }

// parked is a session with a server that has no connection.
type parked struct {
	session string
	facts   Facts
}

// parkRetry is how often a connection is checked that cannot be closed yet because it has work in
// progress, such as the end of its subscriptions.
const parkRetry = 5 * time.Second

// Reasons for closing a connection that was in order, as operators read them.
const (
	closedIdle     = "idle_stop"     // nothing needed it
	closedReleased = "idle_release"  // it served one session, whose client is away
	closedUnused   = "unused"        // no session uses it, or listens to it
	closedInstance = "idle_instance" // an instance beyond the first had no call
)

// parkDue says that the connection is to be checked again.
type parkDue struct{}

// sessions is the part of a transport whose sessions outlive its connections.
type sessions interface {
	Leave() (session string)
	Take(session string)
	Resume(session string)
}

// releaseSession releases a session and its subscriptions.
func (c *Connection) releaseSession(ref otp.Ref) {
	keeps := c.o.Key.Share == tenant.BySession && c.keepsSession()
	c.detach(ref)
	if keeps {
		c.keptFor = ref
		c.linger.Stop()
		c.park()
	}
}

// keepsSession reports whether the server keeps state for the session that uses this connection, as
// far as that is known.
func (c *Connection) keepsSession() bool {
	return c.parked != nil || c.clients.anyHolds() ||
		c.state == Ready && c.facts.Version.Era() == protocol.Legacy && !c.info().Stateless
}

// keptForAway reports whether the connection is kept for a session whose client is away.
func (c *Connection) keptForAway() bool { return c.keptFor != (otp.Ref{}) && !c.retired }

// park closes the connection for a session whose client is away, as soon as no work is in progress.
// A connection over HTTP+SSE stays, because its session would end with it.
func (c *Connection) park() {
	c.parking.Stop()
	if !c.keptForAway() || c.state != Ready || c.info().Transport == transport.SSE {
		return
	}
	if c.o.Idle > 0 {
		c.staysAwakeAfter(c.shortcut.usedLast(), c.o.Idle)
	}
	if c.needed() || c.until.After(c.p.Now()) {
		c.parking = c.p.After(parkRetry, parkDue{})
		return
	}
	c.sleep(closedReleased)
}

// sleep closes the connection to a server that nothing needs. It parks a session that outlives the
// connection.
func (c *Connection) sleep(reason string) {
	if c.closed = reason; reason == closedIdle {
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

// resumeParked resumes the parked session. It reports false if there is none.
func (c *Connection) resumeParked() bool {
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

// endParked ends a parked session, at its server too.
func (c *Connection) endParked() {
	p := c.parked
	c.parked = nil
	if p == nil {
		return
	}
	up, err := c.o.Dial(context.WithoutCancel(c.p.Context()), c.p.Self()) // this sends nothing yet
	if err != nil {
		return
	}
	if to, ok := transport.As[sessions](up); ok {
		up.Negotiated(p.facts.Version)
		to.Take(p.session)
	}
	c.o.Close(up)
}
