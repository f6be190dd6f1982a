package catalog

import (
	"errors"
	"slices"
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// connect hands out a connection. It starts one if there is none and there may be another.
func (c *Catalog) connect(s *server, key tenant.Key, w pending) {
	key = c.fit(s, key)
	c.registerSubstitute(s, key, w.caller)
	if wait, refused, ending := s.recovery.Refused(key, s.connState(key), c.p.Now()); refused {
		cause := s.failureCause(w.caller)
		if ending != nil {
			cause = ending
		}
		w.reply(otp.Ref{}, c.unavailable(s, w.caller, cause, wait))
		return
	}
	// The connection is ending, and accepts nothing more.
	if conn := s.conns[key]; conn != nil && conn.report.GaveUp {
		w.reply(otp.Ref{}, c.unavailable(s, w.caller, conn.report.Cause, recovery.FirstPause))
		return
	}
	if conn := s.conns[key]; conn != nil {
		c.attachSession(s, key, conn, w.caller)
		w.reply(conn.ref, nil)
		return
	}
	if len(s.awaitingStart[key]) == 0 && s.held[key.Principal] >= c.o.Connections {
		w.reply(otp.Ref{}, protocol.Overloaded("connection pool of server "+s.config.Name, time.Minute))
		return
	}
	s.recovery.SetProbe(key)
	c.await(s, key, w)
}

// startInstance starts one more instance of a connection's server. Only the first instance asks for
// that.
func (c *Catalog) startInstance(call *client.StartInstance) {
	s, key := c.servers[call.Req.Server], call.Req.Key
	if s == nil || s.conns[key] == nil {
		call.Fail(otp.ErrNoProc)
		return
	}
	if !s.current(key) || s.full(key) {
		call.Fail(protocol.Overloaded("instance pool of server "+s.config.Name, time.Minute))
		return
	}
	caller := Caller{Principal: key.Principal, Capabilities: call.Req.Declare}
	for key.Instance = 1; int(key.Instance) < call.Req.Most; key.Instance++ {
		if s.conns[key] == nil && len(s.awaitingStart[key]) == 0 && !s.retiring[key] {
			call.AnswerLater()
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
	call.Fail(protocol.Overloaded("instance pool of server "+s.config.Name, time.Minute))
}

// unavailable is the error for a caller whose server cannot be used now: with the reason, and the
// time to retry.
func (c *Catalog) unavailable(s *server, to Caller, cause error, retry time.Duration) error {
	if cause != nil && client.EndingOf(cause).Withheld(to.Principal) {
		c.drops.Drop(c.p, c.o.Emit,
			client.StderrWithheld(telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name}, 1))
	}
	e := client.LostTo(to.Principal, s.config.Name, "", false, cause)
	if cause != nil && s.recovery.Quarantined(s.at(s.key(to))) {
		e = client.QuarantinedError(to.Principal, s.config.Name, cause)
	}
	e.RetryAfter = retry
	return e
}

// attachSession tells a connection that a session uses it. The session is noted as arriving until
// the connection has confirmed it or is gone. Connections that the catalogue opens for its lists
// have no session.
func (c *Catalog) attachSession(s *server, key tenant.Key, conn *conn, caller Caller) {
	if caller.Session == "" {
		return
	}
	user := client.User{
		Principal: caller.Principal, Presence: caller.Presence, Version: caller.Version,
	}
	if key.Share != tenant.BySession &&
		key.Fingerprint != visibleFingerprint(s.config, caller.fingerprint()) ||
		s.config.Instances == 1 {
		user.Differs, user.Declare = true, visibleCapabilities(s.config, caller.Visible())
	}
	session := &client.AttachRequest{
		Session: caller.Session, Ref: caller.Ref, Holds: caller.Holds, User: user,
	}
	conn.arriving = append(conn.arriving, session)
	c.attach(conn, session)
}

func (c *Catalog) attach(conn *conn, session *client.AttachRequest) {
	otp.CallAsync(c.p, conn.ref, *session, func(_ struct{}, err error) any {
		return arrived{conn, session, err}
	})
}

// arrived handles the connection's answer to use. A connection that crashed on the message is told
// again: it would never be told that a session ends which it has not heard of. The next incarnation
// of the catalogue also tells it again if this one misses the answer. Restart budgets bound the
// repetitions. A connection that takes no such message is not told again.
func (c *Catalog) arrived(m arrived) {
	if m.err != nil && m.conn.ref.Alive() && !errors.Is(m.err, otp.ErrUnhandled) {
		c.attach(m.conn, m.session)
		return
	}
	m.conn.arriving = slices.DeleteFunc(m.conn.arriving, func(s *client.AttachRequest) bool {
		return s == m.session
	})
}

// handleLeft keeps the carried state of a connection that has ended until there is a new
// connection. The new one is started now, if the server's supervisor runs and nothing holds the
// connection back.
func (c *Catalog) handleLeft(m *client.AbandonedState) {
	s, ok := c.servers[m.Server]
	if !ok || !s.current(m.Key) { // the sessions know that they get another connection
		return
	}
	// A connection that goes on without its carried state gets the state back.
	if conn := s.conns[m.Key]; conn != nil && c.p.Send(conn.ref, m) == nil {
		return
	}
	c.keepCarried(s, m)
	if s.sup != (otp.Ref{}) && !s.closed(m.Key, c.p.Now()) {
		c.restore(s, m.Key)
	}
}

// restore starts a connection for sessions that had one, so that their subscriptions and held calls
// go on. The connection releases sessions that have ended meanwhile, as it does while it runs.
func (c *Catalog) restore(s *server, key tenant.Key) {
	abandoned := s.carried[key]
	alive := false
	for _, ref := range abandoned.Sessions {
		alive = alive || ref.Alive()
	}
	if !alive {
		c.dropCarried(s, key)
		return
	}
	if s.conns[key] == nil && len(s.awaitingStart[key]) == 0 && !s.retiring[key] {
		if to := s.conns[c.fit(s, key)]; to != nil { // there is no longer room for it
			c.dropCarried(s, key)
			c.moveSessions(s, s.substitutes[key], to, abandoned)
			return
		}
		c.await(s, key, pending{nil, Caller{
			Principal: key.Principal, Capabilities: abandoned.Declare, Info: abandoned.Self,
			Modern: abandoned.Modern || key.Modern,
		}})
	}
}

// keepCarried keeps the carried state of a connection, and charges it to the tenant.
func (c *Catalog) keepCarried(s *server, m *client.AbandonedState) {
	c.dropCarried(s, m.Key)
	s.carried[m.Key] = m
	c.countCarried(m.Bytes)
}

// dropCarried drops the carried state of a connection: there is another connection, or no session
// used the last one.
func (c *Catalog) dropCarried(s *server, key tenant.Key) {
	if m := s.carried[key]; m != nil {
		delete(s.carried, key)
		c.countCarried(-m.Bytes)
	}
}

// dropAllCarried drops all carried states of a server, because no session uses the server under its
// old declaration.
func (c *Catalog) dropAllCarried(s *server) {
	for key := range s.carried {
		c.dropCarried(s, key)
	}
}

func (c *Catalog) countCarried(bytes int) {
	c.carriedBytes += bytes
	c.o.Account.Set(quota.Restorable, c.carriedBytes)
}
