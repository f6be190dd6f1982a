package client

import (
	"time"

	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
)

// maybeLinger bounds how long a connection lasts that nobody uses. A connection of a single session
// lasts for Reattach, the time in which a crashed session comes back. A shared connection lasts for
// Options.Linger, if that is not zero.
func (c *Connection) maybeLinger() {
	after := c.lingers()
	if c.clients.attached() > 0 || after == 0 || c.primary != (otp.Ref{}) || c.keptForAway() {
		return
	}
	c.linger.Stop()
	c.linger = c.p.After(after, lingerOver{})
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

// RetirePause is how long a connection whose server is declared differently now is kept without a
// session and without calls: a session may be on its way. It is also how often the connection is
// checked for calls.
const RetirePause = 100 * time.Millisecond

// retire lets the connection end as soon as nobody uses it. The instances that it hands calls end
// first.
func (c *Connection) retire(removed bool) {
	c.retired, c.removed = true, c.removed || removed
	if c.removed && c.state == Backoff {
		c.refuseAll()
	}
	c.applyInstanceEffects(c.instances.Retired(c.view()))
	c.maybeLinger()
}

// idle tells the catalogue that nobody uses this connection. Only the catalogue can end it: the
// catalogue knows whom it has just sent here. If sessions that do not use the connection may listen
// to it, the dispatcher is asked first.
func (c *Connection) idle() {
	switch {
	case c.clients.attached() > 0 || c.keptForAway():
		return
	case !c.vacant():
	case c.o.Listened && c.o.Key.Share != tenant.BySession && !c.retired:
		otp.CallAsync(c.p, c.o.Dispatcher, notification.HasListenersRequest{
			Server: c.o.Server, Key: c.o.Key,
		},
			func(some bool, err error) any { return listened{some || err != nil} })
		return
	default:
		c.unused()
	}
	c.maybeLinger() // the catalogue may know better, or have missed this
}

// vacant reports whether the connection has no calls, nor instances that may have some.
func (c *Connection) vacant() bool {
	return c.calls.len()+len(c.queue)+len(c.mrtrCalls)+c.instances.Len() == 0
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
	_ = c.p.Send(c.o.Catalog, &Unused{
		Server: c.o.Server, Key: c.o.Key, From: c.p.Self(), Why: closedUnused,
	})
}
