package client

import (
	"slices"
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// Where calls of several clients cannot be in flight at once, one that lasts would keep all others
// waiting: a call that asks its user something lasts for minutes. So the first connection of a key
// has more instances of the server started, and hands them the calls that wait for their turn. They
// know no sessions. They subscribe to what the first is subscribed to, and lists are those of the first
// with what a call has added to another.

// Patience is how long a call of a program may last before those that wait for it go elsewhere.
// Starting another takes as long; and what is done soon is better done where the rest was done. A
// remote server only has one more session, so that nobody waits.
const Patience = 500 * time.Millisecond

// MaxRemote bounds the sessions with a remote server in which the calls of one principal overlap;
// those of programs are bounded by configuration.
const MaxRemote = 64

// InstanceRetry is how long none is started after one could not be.
const InstanceRetry = 10 * time.Second

// Messages that only this connection sends itself.
type (
	impatient struct{}
	regrow    struct{}
	another   struct {
		i   Instance
		err error
	}
	rested struct{ ref otp.Ref }
)

// spread hands calls that wait for their turn to instances that have nothing to do, once what they
// wait for has lasted. If none has, another is started.
//
// Calls that no instance can take are written beside a call whose user is being asked. Calls behind
// those that have gone elsewhere may have their turn here.
func (c *Connection) spread() {
	if c.handOut() {
		c.writeFree()
	}
	c.writeBeside()
	c.press()
}

// handOut hands calls to instances that have nothing to do, and reports whether there were any.
func (c *Connection) handOut() (some bool) {
	for n := c.waits(); n >= 0; n = c.waits() {
		if wait := Patience - c.p.Now().Sub(c.since()); wait > 0 && c.program() {
			c.lookAgain(wait)
			return some
		}
		i := slices.IndexFunc(c.instances, func(i *instance) bool { return !i.busy })
		if i < 0 {
			c.grow()
			return some
		}
		if !c.hand(c.queue[n], c.instances[i]) {
			c.instances = slices.Delete(c.instances, i, i+1)
			continue
		}
		c.queue = slices.Delete(c.queue, n, n+1)
		some = true
	}
	return some
}

// hand hands a call to an instance. It reports false for one that is gone.
func (c *Connection) hand(x *request.Exchange, to *instance) bool {
	call := &handed{
		Forward: &request.Forward{Exchange: x},
		level:   c.interest.Levels()[x.Session],
		user:    c.clients[x.Session].User,
		number:  to.last + 1,
	}
	x.Take(&request.Hold{Ref: to.Ref})
	if c.p.Send(to.Ref, call) != nil {
		x.Take(c.self)
		return false
	}
	to.has = slices.DeleteFunc(to.has, func(h *handed) bool { return h.Exchange.Ended() })
	to.busy, to.has, to.last = true, append(to.has, call), call.number
	return true
}

// handTool hands a call of a tool that only another instance has to that instance.
func (c *Connection) handTool(x *request.Exchange) bool {
	if x.Method != "tools/call" ||
		!slices.ContainsFunc(c.instances, func(i *instance) bool { return len(i.tools) > 0 }) {
		return false
	}
	name, _ := splice.GetString(x.Params, "name")
	if c.tools()[name] {
		return false
	}
	at := slices.IndexFunc(c.instances, func(i *instance) bool { return i.tools[name] })
	return at >= 0 && c.hand(x, c.instances[at])
}

// tools are the names of the tools that this connection has listed.
func (c *Connection) tools() map[string]bool {
	names := map[string]bool{}
	for _, item := range c.listing.lists[catalog.Tools] {
		name, _ := splice.GetString(item, "name")
		names[name] = true
	}
	return names
}

// tellTools tells who hands this instance its calls what tools it has.
func (c *Connection) tellTools() {
	if c.o.Key.Instance > 0 && c.primary != (otp.Ref{}) && c.listing.had[catalog.Tools] {
		_ = c.p.Send(c.primary, offers{c.p.Self(), c.tools()})
	}
}

// waits is the first in the queue that waits for its turn here, and not for the server, and that
// another instance may take; -1 for none.
func (c *Connection) waits() int {
	if c.state != Ready || len(c.queue) == 0 || c.primary != (otp.Ref{}) || c.o.Instances <= 1 ||
		c.free(c.queue[0]) {
		return -1
	}
	return slices.IndexFunc(c.queue, func(x *request.Exchange) bool { return !x.Stays })
}

// program reports whether an instance is a process, which is dear.
func (c *Connection) program() bool { return c.info().PID != 0 }

// most is how many instances there may be.
func (c *Connection) most() int {
	if c.program() || c.o.Instances <= 1 {
		return c.o.Instances
	}
	return MaxRemote
}

// since is when the oldest of the calls was written that others wait for.
func (c *Connection) since() time.Time {
	first := c.p.Now()
	for _, f := range c.calls.all() {
		if interactive(f.x.Method) && f.at.Before(first) {
			first = f.at
		}
	}
	return first
}

// lookAgain has somebody who waits looked at again after a while.
func (c *Connection) lookAgain(wait time.Duration) {
	if !c.patient {
		c.patient = true
		c.p.After(wait, impatient{})
	}
}

// grow asks for another instance, if there may be one.
func (c *Connection) grow() {
	if c.growing || len(c.instances)+1 >= c.most() {
		return
	}
	c.growing = true
	otp.CallAsync(
		c.p,
		c.o.Catalog,
		AnotherRequest{Server: c.o.Server, Key: c.o.Key, Declare: c.told, Most: c.most()},
		func(i Instance, err error) any { return another{i, err} },
	)
}

// handed takes a call of another connection, whose session's log level is the server's until the
// next, or until the most verbose of several has ended.
func (c *Connection) handed(m *handed) {
	m.Exchange.Take(c.self)
	c.last = m.number
	alone := c.calls.len()+len(c.queue) == 0 // else it is written beside another
	c.clients.handed(m.Exchange.Session, m.user, alone)
	c.interested(interest.Event{
		Op: interest.Level, Session: m.Exchange.Session, Level: m.level, Alone: alone,
	})
	c.forward(m.Exchange)
}

// vacate tells who hands this instance its calls that it has none. Without anybody who does, it
// ends when that lasts.
func (c *Connection) vacate() {
	if c.primary == (otp.Ref{}) || c.state != Ready || len(c.queue)+c.calls.len() > 0 {
		return
	}
	if c.p.Send(c.primary, vacant{Instance{c.p.Self(), c.o.Key}, c.last}) != nil {
		c.primary = otp.Ref{}
		c.maybeLinger()
	}
}

// amongInstances handles what concerns the other instances of the server.
func (c *Connection) amongInstances(msg any) {
	switch m := msg.(type) {
	case *handed:
		c.handed(m)
	case asking:
		c.asksNow(m)
	case yield:
		c.giveUp()
	case alsoFollow:
		c.interested(interest.Event{Op: m.op, URI: m.uri, Session: m.row})
	case offers:
		if i := c.instance(m.ref); i != nil {
			i.tools = m.tools
		}
	case adopt:
		c.primary, c.last = m.by, m.last
		c.p.Monitor(m.by)
		c.tellTools()
		c.vacate()
	case vacant:
		if i := c.instance(m.Ref); i == nil || i.last == m.last {
			c.vacated(m.Instance)
		}
	case impatient:
		c.patient = false
		c.spread()
	case regrow:
		c.growing, c.denied = false, false
		c.spread()
	case another:
		c.joined(m)
	case rested:
		c.rested(m.ref)
	}
}
