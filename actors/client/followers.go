package client

import (
	"maps"
	"slices"

	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
)

// A call may run on any instance of a server, and change a resource there. Each instance is a process of
// its own, which announces changes to its own subscribers only. So the instances subscribe to what the
// clients of the first one have subscribed to.

// alsoFollow tells an instance that somebody wants to hear of a resource, or nobody any more. Owed: it is
// sent once to each instance for each such change.
type alsoFollow struct {
	uri    string
	row    string // of the session that asked first
	wanted bool
}

func (alsoFollow) Class() otp.Class { return otp.Owed }

// subscribeFor notes that a session wants to hear of a resource.
func (c *Connection) subscribeFor(uri, session string, agreed bool) {
	first := c.uris[uri] == nil
	c.hold(uri, session, agreed)
	if first {
		c.tellInstances(uri, true)
	}
}

// unsubscribeFor notes that a session does not, and reports whether no session does any more.
func (c *Connection) unsubscribeFor(uri, session string) (last bool) {
	if last = c.release(uri, session); last {
		c.tellInstances(uri, false)
	}
	return last
}

func (c *Connection) tellInstances(uri string, wanted bool) {
	for _, i := range c.instances {
		c.tellInstance(i.Ref, uri, wanted)
	}
}

// tellInstance tells one. The end of an instance that is gone is on its way here.
func (c *Connection) tellInstance(to otp.Ref, uri string, wanted bool) {
	m := alsoFollow{uri: uri, wanted: wanted}
	if wanted {
		m.row = slices.Min(slices.Collect(maps.Keys(c.uris[uri])))
	}
	_ = c.p.Send(to, m)
}

// followAll tells a new instance of all resources.
func (c *Connection) followAll(to otp.Ref) {
	for uri := range order.Of(c.uris) {
		c.tellInstance(to, uri, true)
	}
}

// followToo subscribes this instance as the first one is. Its calls wait for that, because they may
// change the resource.
func (c *Connection) followToo(m alsoFollow) {
	if before := c.uris[m.uri] != nil; before == m.wanted {
		return
	}
	if !m.wanted {
		c.drop(m.uri)
	} else {
		c.hold(m.uri, m.row, true)
	}
	if c.state == Ready {
		c.servesSubscriber(m.row)
		c.follow(m.uri, m.wanted)
		c.holdCalls()
	}
}

// servesSubscriber notes on whose behalf the server is subscribed to a resource: what it says without
// naming a call may be about that. An instance does not know the sessions of the first one, and where
// several principals share that, it may be about any of them.
func (c *Connection) servesSubscriber(row string) {
	user, known := c.users[row]
	switch {
	case known:
		c.served.add(user.Principal)
	case c.o.Key.Share == tenant.ByTenant:
		c.served.any, c.served.several = true, true
	default:
		c.served.add(c.o.Key.Principal)
	}
}
