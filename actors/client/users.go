package client

import (
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
)

// attach takes note of a session that uses this connection. One that was attached anew after a
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

// Reattach is how long a session whose actor crashed is waited for before the server is told that
// it is gone.
const Reattach = 5 * time.Second

// down hears that a session's actor has ended.
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

// detach forgets a session, and lets go of what only it had wanted.
func (c *Connection) detach(ref otp.Ref) {
	if c.keptFor == ref {
		c.keptFor = otp.Ref{}
	}
	for _, row := range c.clients.detach(ref) {
		c.interested(interest.Event{Op: interest.Leave, Session: row})
	}
	if c.state == Ready {
		c.tellRoots()
	}
	c.maybeLinger()
}

// maybeLinger sees to it that a connection which nobody uses does not last: one of a single session
// only as long as a crash of that session takes, a shared one for Linger, if that is not zero.
func (c *Connection) maybeLinger() {
	after := c.lingers()
	if c.clients.attached() > 0 || after == 0 || c.primary != (otp.Ref{}) || c.keptForAway() {
		return
	}
	c.linger.Stop()
	c.linger = c.p.After(after, lingered{})
}

func (c *Connection) lingers() time.Duration {
	if c.retired {
		return RetirePause
	}
	if c.o.Key.Share == tenant.BySession {
		return Reattach
	}
	if c.o.Idle > 0 {
		return min(c.o.Linger, c.o.Idle)
	}
	return c.o.Linger
}

// RetirePause is how long a connection whose server is declared otherwise now is kept without a
// session and without calls: a session may be on its way, and it is looked at so often whether
// calls are.
const RetirePause = 100 * time.Millisecond

// retire lets the connection end as soon as nobody uses it, and before it the instances that it
// hands calls.
func (c *Connection) retire(removed bool) {
	c.retired, c.removed = true, c.removed || removed
	if c.removed && c.state == Backoff {
		c.refuseAll()
	}
	c.instanced(c.instances.Retired(c.view()))
	c.maybeLinger()
}

// idle tells the catalogue that nobody uses this connection. Only the catalogue can end it: it
// knows whom it has just sent here. Before that, the dispatcher is asked about a connection to
// which sessions may listen that do not use it.
func (c *Connection) idle() {
	switch {
	case c.clients.attached() > 0 || c.keptForAway():
		return
	case !c.vacant():
	case c.o.Listened && c.o.Key.Share != tenant.BySession && !c.retired:
		otp.CallAsync(c.p, c.o.Dispatcher, notification.HeardRequest{Server: c.o.Server, Key: c.o.Key},
			func(some bool, err error) any { return listened{some || err != nil} })
		return
	default:
		c.unused()
	}
	c.maybeLinger() // the catalogue may know better, or have missed this
}

// vacant reports whether the connection has no calls, nor instances that may have some.
func (c *Connection) vacant() bool {
	return c.calls.len()+len(c.queue)+len(c.drives)+c.instances.Len() == 0
}

// listened says whether sessions listen to this connection.
type listened struct{ some bool }

func (c *Connection) listenedTo(m listened) {
	if !m.some && c.clients.attached() == 0 && c.vacant() {
		c.unused()
	}
	c.maybeLinger()
}

func (c *Connection) unused() {
	_ = c.p.Send(c.o.Catalog, &Unused{Server: c.o.Server, Key: c.o.Key, From: c.p.Self(), Why: closedUnused})
}

// onlySession is the one session to ask what names no call. It has no claim to that when the server
// was given calls of another principal.
func (c *Connection) onlySession() (session string, ref otp.Ref, ok bool) {
	if session, _ = c.present(); session == "" {
		return "", otp.Ref{}, false
	}
	u := c.clients[session]
	return session, u.ref, !c.served.any || !c.served.several && c.served.principal == u.Principal
}
