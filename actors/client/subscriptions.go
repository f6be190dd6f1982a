package client

import (
	"maps"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
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
		return c.unsubscribe(x)
	}
	return nil, false
}

// listening takes the same calls to a modern server, which has subscriptions of another kind.
func (c *Connection) listening(x *request.Exchange) (taken bool) {
	if !c.facts.Version.Has(protocol.Listen) || x.Method != "resources/subscribe" && x.Method != "resources/unsubscribe" {
		return false
	}
	done, local := c.intercept(x)
	uri, ok := splice.GetString(x.Params, "uri")
	switch {
	case !ok:
		complete(c.o.Requests, x, nil, protocol.InvalidParams("params.uri is missing or not a string"))
	case local:
		complete(c.o.Requests, x, jsontext.Value("{}"), nil)
	case x.Method == "resources/unsubscribe":
		c.unlistenTo(uri)
		complete(c.o.Requests, x, jsontext.Value("{}"), nil)
	default:
		c.listenTo(uri, c.answering(x, done))
	}
	return true
}

// follow asks the server to tell of a resource, or not any more, on behalf of sessions that do not wait for it themselves.
func (c *Connection) follow(uri string, wanted bool) {
	switch {
	case c.facts.Version.Has(protocol.Listen) && wanted:
		c.asides++
		c.listenTo(uri, func(error) {
			c.asides--
			c.grant()
		})
	case c.facts.Version.Has(protocol.Listen):
		c.unlistenTo(uri)
	case c.following[uri] == nil:
		c.following[uri] = &following{}
		method := map[bool]string{true: "resources/subscribe", false: "resources/unsubscribe"}[wanted]
		c.askAside(method, "uri", uri, func(err error) { c.followed(uri, wanted, err) })
	}
}

// following is a resource of which the server is being told that it is wanted, or is not any more. There is one such request at a time, as
// two over HTTP may overtake each other.
type following struct {
	then []func(error) // are told once whether the server agreed
}

// followed goes on when the server has answered: meanwhile it may be that the contrary is wanted.
func (c *Connection) followed(uri string, wanted bool, err error) {
	f, now := c.following[uri], len(c.uris[uri]) > 0
	delete(c.following, uri)
	if now && !wanted {
		c.follow(uri, true)
		c.following[uri].then = f.then
		return
	}
	for _, then := range f.then {
		then(err)
	}
	if !now && wanted {
		c.follow(uri, false)
	}
}

// resubscribe takes a subscription to a resource that the server is being told is not wanted.
func (c *Connection) resubscribe(x *request.Exchange) (taken bool) {
	if x.Method != "resources/subscribe" {
		return false
	}
	uri, _ := splice.GetString(x.Params, "uri")
	f := c.following[uri]
	if f == nil {
		return false
	}
	done, local := c.subscribe(x)
	if local {
		complete(c.o.Requests, x, jsontext.Value("{}"), nil)
		return true
	}
	f.then = append(f.then, c.answering(x, done))
	return true
}

// answering is what to do when a subscription is answered that is not a call of its own.
func (c *Connection) answering(x *request.Exchange, done func(error)) func(error) {
	c.written[x.ID] = x
	return func(err error) {
		done(err)
		if c.written[x.ID] == x { // not withdrawn meanwhile
			c.settled(x.ID)
			complete(c.o.Requests, x, jsontext.Value("{}"), err)
		}
	}
}

func (c *Connection) subscribe(x *request.Exchange) (func(error), bool) {
	uri, ok := splice.GetString(x.Params, "uri")
	if !ok {
		return nil, false // the server says what is wrong
	}
	if c.subscribed(uri) {
		c.uris[uri][x.Session] = true
		return nil, true
	}
	c.hold(uri, x.Session, false) // from now on, so that another's unsubscribe does not take it away
	return func(err error) {
		switch agreed, ok := c.uris[uri][x.Session]; {
		case !ok: // it has let go meanwhile
		case err == nil:
			c.uris[uri][x.Session] = true
		case !agreed:
			c.release(uri, x.Session)
		}
	}, false
}

// subscribed reports whether the server has agreed to a subscription.
func (c *Connection) subscribed(uri string) bool {
	for _, agreed := range c.uris[uri] {
		if agreed {
			return true
		}
	}
	return false
}

// hold notes that a session wants to hear of a resource.
func (c *carry) hold(uri, session string, agreed bool) {
	if c.uris[uri] == nil {
		c.uris[uri] = map[string]bool{}
	}
	c.uris[uri][session] = c.uris[uri][session] || agreed
}

// unsubscribe has the server told when the last session let go of the resource.
func (c *Connection) unsubscribe(x *request.Exchange) (func(error), bool) {
	uri, ok := splice.GetString(x.Params, "uri")
	switch {
	case !ok:
		return nil, false // the server says what is wrong
	case !c.release(uri, x.Session) || c.following[uri] != nil:
		return nil, true
	case c.facts.Version.Has(protocol.Listen):
		return nil, false
	}
	c.following[uri] = &following{}
	return func(error) { c.followed(uri, false, nil) }, false
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

// want takes note of what a session wants, and asks the server for what is new in it. The wish is granted when the server has answered.
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
		if c.hold(uri, w.Session, true); c.state == Ready && !known {
			c.served.add(c.users[w.Session].Principal)
			c.follow(uri, true)
		}
	}
	c.grant()
}

// grant answers the wishes once the connection is ready and the server has answered everything that was asked of it for any of them.
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
}

// setLevel asks the server for a level. There is one such request at a time: two over HTTP may overtake each other, and a client that
// changes its mind without end is followed no faster than its server answers.
func (c *Connection) setLevel(level string) {
	if level == "" || c.leveling || !c.facts.Version.Has(protocol.SetLevel) || !c.facts.Capabilities.Has("logging") {
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

// askAside asks the server for something on behalf of sessions that do not wait for it themselves. Answered, if any, is told its error.
func (c *Connection) askAside(method, member, value string, answered func(error)) {
	params, _ := splice.Set(nil, splice.Quote(value), member) // an empty value becomes an object
	c.asides++
	over := func(err error) {
		c.asides--
		if answered != nil {
			answered(err)
		}
	}
	err := c.request(method, params, c.o.RequestTimeout(), func(_ jsontext.Value, err error) error {
		over(err)
		c.grant()
		return nil
	})
	if err != nil {
		over(err)
	}
}

// restore asks a new server instance for what clients had asked of the old one. Subscriptions to which the old one had not agreed were
// calls, and have failed with it or come again. Of a resource that was subscribed to before, nobody knows whether it has changed meanwhile:
// that counts as a change.
func (c *Connection) restore() {
	c.setLevel(c.verbose())
	for uri, who := range order.Of(c.uris) {
		maps.DeleteFunc(who, func(_ string, agreed bool) bool { return !agreed })
		if len(who) == 0 {
			delete(c.uris, uri)
			continue
		}
		for row := range order.Of(who) {
			c.served.add(c.users[row].Principal)
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

// attach takes note of a session that uses this connection. One that was attached anew after a crash keeps what it had asked for.
func (c *Connection) attach(m *Attach) {
	c.p.Monitor(m.Req.Ref)
	c.sessions[m.Req.Session], c.users[m.Req.Session] = m.Req.Ref, m.Req.User
	if m.Req.Holds {
		c.holders[m.Req.Session] = true
	}
	c.staysAwake(c.o.Idle)
	c.linger.Stop()
	m.Reply(struct{}{})
}

// Reattach is how long a session whose actor crashed is waited for before the server is told that it is gone.
const Reattach = 5 * time.Second

// down hears that a session's actor has ended.
func (c *Connection) down(m otp.Down) {
	if c.instanceDown(m) {
		return
	}
	if otp.IsNormal(m.Reason) {
		for row, s := range c.sessions {
			if s == m.Ref {
				c.elicitations.Forget(row)
			}
		}
		c.detach(m.Ref)
		return
	}
	c.p.After(Reattach, Detach{m.Ref})
}

// detach forgets a session, and lets go of what only it had wanted.
func (c *Connection) detach(ref otp.Ref) {
	for row, s := range c.sessions {
		if s != ref {
			continue
		}
		delete(c.sessions, row)
		delete(c.users, row)
		delete(c.holders, row)
		if m := c.wants[row]; m != nil { // nobody waits for it any more, but a call counts as owed until it is answered
			m.Fail(otp.ErrNoProc)
			delete(c.wants, row)
		}
		if before := c.verbose(); c.levels[row] != "" {
			delete(c.levels, row)
			if after := c.verbose(); c.state == Ready && after != before {
				c.setLevel(after)
			}
		}
		for uri, who := range order.Of(c.uris) {
			if _, ok := who[row]; ok && c.release(uri, row) && c.state == Ready {
				c.follow(uri, false)
			}
		}
	}
	c.maybeLinger()
}

// maybeLinger sees to it that a connection which nobody uses does not last: one of a single session only as long as a crash of that
// session takes, a shared one for Linger, if that is not zero.
func (c *Connection) maybeLinger() {
	after := c.lingers()
	if len(c.sessions) > 0 || after == 0 || c.primary != (otp.Ref{}) {
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

// RetirePause is how long a connection whose server is declared otherwise now is kept without a session and without calls: a session may be
// on its way, and it is looked at so often whether calls are.
const RetirePause = 100 * time.Millisecond

// retire lets the connection end as soon as nobody uses it, and before it the instances that it hands calls.
func (c *Connection) retire() {
	c.retired = true
	for _, i := range c.instances {
		if !i.busy {
			c.p.After(RetirePause, rested{i.Ref})
		}
	}
	c.maybeLinger()
}

// idle tells the catalogue that nobody uses this connection. Only the catalogue can end it: it knows whom it has just sent here.
func (c *Connection) idle() {
	if len(c.sessions) > 0 {
		return
	}
	if len(c.calls)+len(c.queue)+len(c.drives)+len(c.instances) == 0 {
		_ = c.p.Send(c.o.Catalog, &Unused{Server: c.o.Server, Key: c.o.Key, From: c.p.Self()})
	}
	c.maybeLinger() // the catalogue may know better, or have missed this
}
