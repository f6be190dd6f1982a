package client

import (
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/supervisor/otp"
)

// attach records a session that uses this connection. A session that was attached anew after a
// crash keeps what it had asked for.
func (c *Connection) attach(m *Attach) {
	c.p.Monitor(m.Req.Ref)
	c.clients.attach(m.Req.Session, m.Req.Ref, m.Req.Holds, m.Req.User)
	c.staysAwake(c.o.Idle)
	c.linger.Stop()
	if c.keptFor = (otp.Ref{}); c.parked != nil {
		c.wake()
	}
	m.Reply(struct{}{})
	c.askEarly()
	c.tellLines()
}

// Reattach is how long the connection waits for a session whose actor crashed, before the server is
// told that the session is gone.
const Reattach = 5 * time.Second

// down handles the end of an actor: another instance, the primary, or the actor of a session.
func (c *Connection) down(m otp.Down) {
	if c.instanceDown(m) {
		return
	}
	if otp.IsNormal(m.Reason) {
		for row := range c.clients.of(m.Ref) {
			c.elicitations.Forget(row)
		}
		c.detach(m.Ref)
		return
	}
	c.p.After(Reattach, Detach{m.Ref})
}

// detach forgets a session, and gives up what only that session had wanted.
func (c *Connection) detach(ref otp.Ref) {
	if c.keptFor == ref {
		c.keptFor = otp.Ref{}
	}
	for _, row := range c.clients.detach(ref) {
		c.stepInterest(interest.Event{Op: interest.Leave, Session: row})
	}
	if c.state == Ready {
		c.tellRoots()
	}
	c.maybeLinger()
}
