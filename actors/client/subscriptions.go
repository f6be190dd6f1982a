package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// intercept looks at the calls that change what a server sends unasked, because several sessions may share the connection. It reports
// local when the server need not hear of the call; otherwise done, if any, is told how the server answered.
func (c *Connection) intercept(x *request.Exchange) (done func(error), local bool) {
	switch x.Method {
	case "resources/subscribe":
		return c.subscribe(x)
	case "resources/unsubscribe":
		return nil, !c.unsubscribe(x)
	}
	return nil, false
}

func (c *Connection) subscribe(x *request.Exchange) (func(error), bool) {
	uri, ok := splice.GetString(x.Params, "uri")
	if !ok {
		return nil, false // the server says what is wrong
	}
	if who := c.uris[uri]; len(who) > 0 {
		who[x.Session] = true
		return nil, true
	}
	return func(err error) {
		if err == nil {
			if c.uris[uri] == nil {
				c.uris[uri] = map[string]bool{}
			}
			c.uris[uri][x.Session] = true
		}
	}, false
}

// unsubscribe reports whether the server must be told: the last session let go of the resource.
func (c *Connection) unsubscribe(x *request.Exchange) bool {
	uri, ok := splice.GetString(x.Params, "uri")
	return !ok || c.release(uri, x.Session)
}

func (c *Connection) release(uri, session string) (last bool) {
	who := c.uris[uri]
	delete(who, session)
	if len(who) > 0 {
		return false
	}
	delete(c.uris, uri)
	return true
}

// want keeps a session's log level and asks the server for the most verbose of them all.
func (c *Connection) want(m *Want) {
	before := c.verbose()
	c.levels[m.Session] = m.Level
	if after := c.verbose(); c.state == Ready && after != before {
		c.setLevel(after)
	}
}

func (c *Connection) setLevel(level string) {
	if level != "" && c.facts.Capabilities.Has("logging") {
		c.askAside("logging/setLevel", "level", level)
	}
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

// askAside asks the server for something whose outcome changes nothing here.
func (c *Connection) askAside(method, member, value string) {
	params, _ := splice.Set(nil, splice.Quote(value), member) // an empty value becomes an object
	_ = c.request(method, params, c.o.RequestTimeout, func(jsontext.Value, error) error { return nil })
}

// restore asks a new server instance for what clients had asked of the old one.
func (c *Connection) restore() {
	c.setLevel(c.verbose())
	for uri := range c.uris {
		c.askAside("resources/subscribe", "uri", uri)
	}
}

// attach takes note of a session that uses this connection. One that was attached anew after a crash keeps what it had asked for.
func (c *Connection) attach(m *Attach) {
	c.p.Monitor(m.Req.Ref)
	c.sessions[m.Req.Session] = m.Req.Ref
	c.linger.Stop()
	m.Reply(struct{}{})
}

// Reattach is how long a session whose actor crashed is waited for before the server is told that it is gone.
const Reattach = 5 * time.Second

type detached struct{ ref otp.Ref }

// down hears that a session's actor has ended.
func (c *Connection) down(m otp.Down) {
	if otp.IsNormal(m.Reason) {
		c.detach(m.Ref)
		return
	}
	c.p.After(Reattach, detached{m.Ref})
}

// detach forgets a session, and lets go of what only it had wanted.
func (c *Connection) detach(ref otp.Ref) {
	for row, s := range c.sessions {
		if s != ref {
			continue
		}
		delete(c.sessions, row)
		if before := c.verbose(); c.levels[row] != "" {
			delete(c.levels, row)
			if after := c.verbose(); c.state == Ready && after != before {
				c.setLevel(after)
			}
		}
		for uri, who := range c.uris {
			if who[row] && c.release(uri, row) && c.state == Ready {
				c.askAside("resources/unsubscribe", "uri", uri)
			}
		}
	}
	c.maybeLinger()
}

// maybeLinger sees to it that a connection which nobody uses does not last: one of a single session only as long as a crash of that
// session takes, a shared one for Linger, if that is not zero.
func (c *Connection) maybeLinger() {
	after := c.o.Linger
	if c.o.Key.Share == tenant.BySession {
		after = Reattach
	}
	if len(c.sessions) > 0 || after == 0 {
		return
	}
	c.linger.Stop()
	c.linger = c.p.After(after, lingered{})
}

// idle tells the catalogue that nobody uses this connection. Only the catalogue can end it: it knows whom it has just sent here.
func (c *Connection) idle() {
	if len(c.sessions) > 0 {
		return
	}
	if len(c.calls) == 0 && len(c.queue) == 0 {
		_ = c.o.Catalog.Send(&Unused{Server: c.o.Server, Key: c.o.Key, From: c.p.Self()})
	}
	c.maybeLinger() // the catalogue may know better, or have missed this
}
