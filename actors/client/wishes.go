package client

import (
	"maps"

	"mcpd/internal/order"
	"mcpd/protocol"
)

// want takes note of what a session wants, and asks the server for what is new in it. The wish is
// granted when the server has answered.
func (c *Connection) want(m *Want) {
	w, before := m.Req, c.verbose()
	if old := c.wants[w.Session]; old != nil {
		old.Reply(struct{}{}) // this one says all that it said
	}
	c.wants[w.Session] = m
	if w.Level != "" {
		c.levels[w.Session] = w.Level
	}
	if after := c.verbose(); c.state == Ready && after != before {
		c.setLevel(after)
	}
	for _, uri := range w.URIs {
		known := c.subscribed(uri)
		c.wake()
		if c.subscribeFor(uri, w.Session, true); c.state == Ready && !known {
			c.served.add(c.users[w.Session].Principal)
			c.follow(uri, true)
		}
		if w.Missed {
			c.tellMissed(uri, w.Session)
		}
	}
	c.grant()
}

// tellMissed tells a session that a resource may have changed while it was not subscribed to it, once
// it is again.
func (c *Connection) tellMissed(uri, session string) {
	if c.state != Ready { // see restore
		c.before[uri] = true
		return
	}
	if f := c.following[uri]; f != nil {
		f.then = append(f.then, func(err error) {
			if err == nil {
				c.updatedTo(uri, session)
			}
		})
		return
	}
	for _, l := range c.listens {
		if l.uri == uri && !l.acked {
			l.missed = true
			return
		}
	}
	c.updatedTo(uri, session)
}

// grant answers the wishes once the connection is ready and the server has answered everything that
// was asked of it for any of them.
func (c *Connection) grant() {
	if c.state != Ready && !c.asleep() || c.asides > 0 {
		return
	}
	for session, m := range order.Of(c.wants) {
		delete(c.wants, session)
		if c.refused != nil && m.Req.Level != "" {
			m.Fail(c.refused)
		} else {
			m.Reply(struct{}{})
		}
	}
	c.restored()
}

// setLevel asks the server for a level. There is one such request at a time: two over HTTP may
// overtake each other, and a client that changes its mind without end is followed no faster than
// its server answers.
func (c *Connection) setLevel(level string) {
	if level == "" || c.leveling || !c.facts.Version.Has(protocol.SetLevel) ||
		!c.facts.Capabilities.Has("logging") {
		return
	}
	c.leveling = true
	c.askAside("logging/setLevel", "level", level, func(err error) {
		c.leveling, c.refused = false, err
		if now := c.verbose(); now != level {
			c.setLevel(now)
		}
	})
}

// verbose is the lowest level that any session asked for, empty when none did.
func (c *Connection) verbose() (least string) {
	for _, l := range c.levels {
		if least == "" || protocol.AtLeast(least, l) {
			least = l
		}
	}
	return least
}

// restore asks a new server instance for what clients had asked of the old one. Subscriptions to
// which the old one had not agreed were calls, and have failed with it or come again. Of a resource
// that was subscribed to before, nobody knows whether it has changed meanwhile: that counts as a
// change.
func (c *Connection) restore() {
	c.setLevel(c.verbose())
	for uri, who := range order.Of(c.uris) {
		maps.DeleteFunc(who, func(_ string, agreed bool) bool { return !agreed })
		if len(who) == 0 {
			c.drop(uri)
			c.tellInstances(uri, false)
			continue
		}
		for row := range order.Of(who) {
			c.servesSubscriber(row)
		}
		c.follow(uri, true)
		if !c.before[uri] {
			continue
		}
		for _, l := range c.listens {
			l.missed = l.missed || l.uri == uri
		}
		if f := c.following[uri]; f != nil {
			f.then = append(f.then, func(err error) {
				if err == nil {
					c.updated(uri)
				}
			})
		}
	}
	if c.facts.Version.Has(protocol.Listen) {
		c.listenLists()
	}
}
