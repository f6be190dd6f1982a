package catalog

import (
	"errors"
	"slices"
	"time"

	"mcpd/actors/capability"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// pending is a caller that waits for a connection to be started.
type pending struct {
	answer func(otp.Ref, error) // nil when the catalogue itself wants the connection, for its lists
	caller Caller
}

func (w pending) reply(ref otp.Ref, err error) {
	if w.answer != nil {
		w.answer(ref, err)
	}
}

// answering answers a session's call.
func answering(call *Connect) func(otp.Ref, error) {
	return func(ref otp.Ref, err error) {
		if err != nil {
			call.Fail(err)
		} else {
			call.Reply(ref)
		}
	}
}

// Key is the connection that a caller's requests to a server go through, whatever the revision of its declaration. Who listens to the
// connections of a server listens to those of every revision.
func Key(s tenant.Server, c Caller) tenant.Key {
	if c.Peer {
		return ListKey(s, c)
	}
	k := tenant.NewKey(s.Share.Applied(s.Link()), c.Principal, c.Session, shown(s, c.fingerprint()))
	k.Modern = c.Modern
	return s.Shared(k)
}

// shown is the fingerprint of what a server may know of a client's capabilities, and declared are these.
func shown(s tenant.Server, f protocol.Fingerprint) protocol.Fingerprint {
	if s.Mute {
		return f.Unasked()
	}
	return f
}

func declared(s tenant.Server, c protocol.ClientCapabilities) protocol.ClientCapabilities {
	if s.Mute {
		c = c.Without("roots", "sampling", "elicitation")
	}
	return client.Carried(c)
}

// ListKey is the connection that what a caller sees of a server comes from. A session's own connection is opened by its first call, not
// to look what there is.
func ListKey(s tenant.Server, c Caller) tenant.Key {
	return listKey(s, c.Principal, c.fingerprint(), c.Modern)
}

func listKey(s tenant.Server, principal string, fingerprint protocol.Fingerprint, modern bool) tenant.Key {
	share := s.Share.Applied(s.Link())
	if share == tenant.BySession {
		share = tenant.ByPrincipal
	}
	k := tenant.NewKey(share, principal, "", shown(s, fingerprint))
	k.Modern = modern
	return s.Shared(k)
}

// Keys are the connections that a caller hears of: the ones that its requests go through, and the ones
// that its lists come from. There are few of them, however many servers there are.
func Keys(servers []tenant.Server, c Caller) (keys []tenant.Key) {
	// kind is all of a server that its keys depend on.
	type kind struct {
		share     tenant.Share
		mute, one bool
	}
	c, known := c.known(), map[kind]bool{}
	for i := range servers {
		s := &servers[i]
		if c.Server != "" && s.Name != c.Server {
			continue
		}
		k := kind{s.Share.Applied(s.Link()), s.Mute, s.Instances == 1}
		if known[k] {
			continue
		}
		known[k] = true
		for _, key := range []tenant.Key{Key(*s, c), ListKey(*s, c)} {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// connect hands out a connection, starting it when there is none and there may be another.
func (c *Catalog) connect(s *server, key tenant.Key, w pending) {
	key = c.fit(s, key)
	c.hears(s, key, w.caller)
	if wait, refused, why := s.refused(key, w.caller, c.p.Now()); refused {
		w.reply(otp.Ref{}, c.unavailable(s, w.caller, why, wait))
		return
	}
	if conn := s.conns[key]; conn != nil {
		c.use(s, key, conn, w.caller)
		w.reply(conn.ref, nil)
		return
	}
	if len(s.opening[key]) == 0 && s.held[key.Principal] >= c.o.Connections {
		w.reply(otp.Ref{}, protocol.Overloaded("connections to server "+s.config.Name, time.Minute))
		return
	}
	c.await(s, key, w)
}

// another has one more instance of a connection's server started. Its first instance alone asks for that.
func (c *Catalog) another(call *client.Another) {
	s, key := c.servers[call.Req.Server], call.Req.Key
	if s == nil || s.conns[key] == nil {
		call.Fail(otp.ErrNoProc)
		return
	}
	if !s.current(key) || s.full(key) {
		call.Fail(protocol.Overloaded("instances of server "+s.config.Name, time.Minute))
		return
	}
	caller := Caller{Principal: key.Principal, Capabilities: call.Req.Declare}
	for key.Instance = 1; int(key.Instance) < call.Req.Most; key.Instance++ {
		if s.conns[key] == nil && len(s.opening[key]) == 0 && !s.retiring[key] {
			c.connect(s, key, pending{func(ref otp.Ref, err error) {
				if err != nil {
					call.Fail(err)
				} else {
					call.Reply(client.Instance{Ref: ref, Key: key})
				}
			}, caller})
			return
		}
	}
	call.Fail(protocol.Overloaded("instances of server "+s.config.Name, time.Minute))
}

// await adds to those who wait for a connection. For the first of them it is started.
func (c *Catalog) await(s *server, key tenant.Key, w pending) {
	s.opening[key] = append(s.opening[key], w)
	if len(s.opening[key]) == 1 {
		s.held[key.Principal]++
		c.open(s, key)
		c.show(s)
	}
}

// unavailable tells a caller that a server cannot be used now, why, and when it may be again.
func (c *Catalog) unavailable(s *server, to Caller, cause error, retry time.Duration) error {
	if cause != nil && client.EndingOf(cause).Withheld(to.Principal) {
		c.drops.Drop(c.p, c.o.Emit, client.StderrWithheld(telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name}, 1))
	}
	e := client.LostTo(to.Principal, s.config.Name, "", false, cause)
	e.RetryAfter = retry
	return e
}

// started turns the start of what runs already into a success.
func started(ref otp.Ref, err error) (otp.Ref, error) {
	var running otp.ErrAlreadyStarted
	if errors.As(err, &running) {
		return running.Ref, nil
	}
	return ref, err
}

// use tells a connection that a session uses it, and takes note that it is on its way there until the connection has it, crashed on it or is
// gone. What the catalogue opens for its lists has no session.
func (c *Catalog) use(s *server, key tenant.Key, conn *conn, caller Caller) {
	if caller.Session == "" {
		return
	}
	conn.arriving++
	user := client.User{Principal: caller.Principal}
	if key.Share != tenant.BySession && key.Fingerprint != shown(s.config, caller.fingerprint()) || s.config.Instances == 1 {
		user.Differs, user.Declare = true, declared(s.config, caller.Told())
	}
	session := client.AttachRequest{Session: caller.Session, Ref: caller.Ref, Holds: caller.Holds, User: user}
	otp.CallAsync(c.p, conn.ref, session, func(struct{}, error) any { return arrived{conn} })
}

// open starts a connection for those who wait for it, unless its supervisor or its row is to be waited for first.
func (c *Catalog) open(s *server, key tenant.Key) {
	waiting := s.opening[key]
	if len(waiting) == 0 || s.sup == (otp.Ref{}) || s.retiring[key] {
		return
	}
	first := waiting[0].caller
	var told protocol.ClientCapabilities
	for _, w := range waiting {
		told = told.Union(declared(s.config, w.caller.Told()))
	}
	left := s.left[key]
	if left == nil && first.Modern != key.Modern {
		left = &client.Left{Modern: first.Modern}
	}
	child := c.o.Connection(s.config, key, told, introduced(key, first.Info), left, c.p.Self())
	name := s.config.Name
	otp.StartChildAsync(c.p, s.sup, child, func(ref otp.Ref, err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{reopen{name, key}}
		}
		return opened{name, key, ref, err}
	})
}

// introduced is who a server is told that its client is: the client where the connection is its own, and the host, which is the zero value,
// where others may use it too.
func introduced(key tenant.Key, client protocol.Implementation) protocol.Implementation {
	if key.Share == tenant.BySession {
		return client
	}
	return protocol.Implementation{}
}

// leave keeps what a connection left behind until there is another. When its supervisor runs, that is now.
func (c *Catalog) leave(m *client.Left) {
	s, ok := c.servers[m.Server]
	if !ok || !s.current(m.Key) { // its sessions know that there is another
		return
	}
	if conn := s.conns[m.Key]; conn != nil && c.p.Send(conn.ref, m) == nil { // it goes on, and knows nothing of them
		return
	}
	s.left[m.Key] = m
	if s.sup != (otp.Ref{}) && !s.closed(m.Key, c.p.Now()) {
		c.restore(s, m.Key)
	}
}

// restore starts a connection for sessions that had one, so that what they had asked for goes on.
func (c *Catalog) restore(s *server, key tenant.Key) {
	left := s.left[key]
	for row, ref := range left.Sessions {
		if !ref.Alive() {
			delete(left.Sessions, row)
		}
	}
	if len(left.Sessions) == 0 {
		delete(s.left, key)
		return
	}
	if s.conns[key] == nil && len(s.opening[key]) == 0 && !s.retiring[key] {
		if to := s.conns[c.fit(s, key)]; to != nil { // there is no room for it any more
			delete(s.left, key)
			c.moved(s, s.instead[key], to, left)
			return
		}
		c.await(s, key, pending{nil, Caller{
			Principal: key.Principal, Capabilities: left.Declare, Info: left.Self, Modern: left.Modern || key.Modern,
		}})
	}
}

// opened answers everyone who waited for a connection.
func (c *Catalog) opened(m opened) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	waiting := s.opening[m.key]
	if len(waiting) == 0 { // it was asked for twice, and they have their answer
		if s.conns[m.key] == nil && (!s.current(m.key) || s.whole != nil) { // or what they wait for is another by now
			c.retire(s, m.key)
		}
		return
	}
	m.ref, m.err = started(m.ref, m.err)
	if errors.Is(m.err, otp.ErrAlreadyPresent) { // it ended while nobody looked
		c.retire(s, m.key)
		return
	}
	if m.err != nil {
		c.refuse(s, m.key, time.Second)
		c.show(s)
		c.flush()
		return
	}
	delete(s.opening, m.key)
	s.release(m.key.Principal)
	conn := &conn{sup: m.ref, ref: m.ref.Child(client.Row), declare: waiting[0].caller.Told(), info: waiting[0].caller.Info, modern: waiting[0].caller.Modern}
	c.add(s, m.key, conn)
	c.show(s)
	delete(s.left, m.key)
	_ = c.p.Send(conn.ref, client.Describe{}) // what it has reported so far came before it was known here
	for _, w := range waiting {
		c.use(s, m.key, conn, w.caller)
		w.reply(conn.ref, nil)
	}
}

// refuse tells everyone who waits for a connection that there is none now. Why it could not be started is the host's own affair.
func (c *Catalog) refuse(s *server, key tenant.Key, retry time.Duration) {
	c.makeRoom(s, key)
	waiting := s.opening[key]
	delete(s.opening, key)
	s.release(key.Principal)
	for _, w := range waiting {
		w.reply(otp.Ref{}, c.unavailable(s, w.caller, s.why(w.caller), retry))
	}
}

// report takes what a connection says about itself and its server.
func (c *Catalog) report(r *client.Report) {
	s, ok := c.servers[r.Server]
	if !ok {
		return
	}
	conn := s.conns[r.Key]
	if conn != nil {
		if conn.report.Incarnation > r.Incarnation {
			return // late news of an incarnation that is gone
		}
		s.took(conn, r, c.p.Now())
	}
	defer c.countLists() // once it is learnt
	if !s.current(r.Key) {
		return
	}
	if r.Cause != nil {
		s.ended(r.Key, client.EndingFor(r.Key, r.Cause))
	}
	if c.probed(s, r) {
		c.show(s)
		c.flush()
		return
	}
	if r.State == client.Ready {
		s.ended(r.Key, nil)
		switch {
		case r.Key.Instance > 0:
			c.instanceLists(s, r.Key, r.Changed)
		case r.Key.Share == tenant.BySession:
			if conn != nil {
				c.ownLists(s, r.Key, conn)
			}
			c.announce(r, r.Changed) // what one session's own connection lists concerns nobody else
		default:
			c.learn(s, r)
		}
	}
	c.show(s)
	c.flush()
}

// declare tells the capability registry what a server offers.
func (c *Catalog) declare(server string, facts client.Facts) {
	_ = c.p.Send(c.o.Registry, &capability.Declared{Tenant: c.tenant.Name, Server: server, Capabilities: facts.Capabilities.Raw()})
}
