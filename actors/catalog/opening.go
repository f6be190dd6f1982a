package catalog

import (
	"errors"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// pending is a caller that waits for a connection to be started.
type pending struct {
	answer func(otp.Ref, error) // nil when the catalogue itself needs the connection, for its lists
	caller Caller
}

func (w pending) reply(ref otp.Ref, err error) {
	if w.answer != nil {
		w.answer(ref, err)
	}
}

// answering returns the function that answers a session's call.
func answering(call *Connect) func(otp.Ref, error) {
	return func(ref otp.Ref, err error) {
		if err != nil {
			call.Fail(err)
		} else {
			call.Reply(ref)
		}
	}
}

// await queues a caller for a connection. The first caller starts the connection.
func (c *Catalog) await(s *server, key tenant.Key, w pending) {
	s.awaitingStart[key] = append(s.awaitingStart[key], w)
	if len(s.awaitingStart[key]) == 1 {
		s.held[key.Principal]++
		c.open(s, key)
		c.publishState(s)
	}
}

// started treats a child that already runs as a successful start.
func started(ref otp.Ref, err error) (otp.Ref, error) {
	var running otp.ErrAlreadyStarted
	if errors.As(err, &running) {
		return running.Ref, nil
	}
	return ref, err
}

// introduce gives a session that looks at lists its connection to a server that wants to ask its
// client something, such as its roots. The session would otherwise connect with its first call,
// which is too late for the question.
func (c *Catalog) introduce(s *server, r LookRequest) {
	if len(r.Lists) == 0 || r.Caller.Modern || r.Caller.Peer ||
		r.Caller.Server != "" && r.Caller.Server != s.config.Name {
		return
	}
	key := s.at(s.key(r.Caller))
	if conn := s.conns[key]; conn != nil && conn.report.Early {
		c.attachSession(s, key, conn, r.Caller)
		_ = c.p.Send(r.Caller.Ref, Assigned{s.config.Name, conn.ref})
	}
}

// open starts a connection for the waiting callers. While the supervisor does not run yet, or the
// row of an earlier connection is being removed, it does nothing. It is called again after that.
func (c *Catalog) open(s *server, key tenant.Key) {
	waiting := s.awaitingStart[key]
	if len(waiting) == 0 || s.sup == (otp.Ref{}) || s.retiring[key] {
		return
	}
	first := waiting[0].caller
	var told protocol.ClientCapabilities
	for _, w := range waiting {
		told = told.Union(visibleCapabilities(s.config, w.caller.Visible()))
	}
	abandoned := s.carried[key]
	if abandoned == nil {
		abandoned = &client.AbandonedState{Modern: first.Modern, Version: first.Version}
	}
	child := c.o.Connection(s.config, key, told, serverIdentity(key, first.Info),
		abandoned, c.p.Self())
	name := s.config.Name
	otp.StartChildAsync(c.p, s.sup, child, func(ref otp.Ref, err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{reopen{name, key}}
		}
		return opened{name, key, ref, err}
	})
}

// serverIdentity is the client implementation that a server is told of. It is the client's own if
// only one session uses the connection. If others may use it too, it is the zero value, which
// stands for the host.
func serverIdentity(key tenant.Key, client protocol.Implementation) protocol.Implementation {
	if key.Share == tenant.BySession {
		return client
	}
	return protocol.Implementation{}
}

// opened answers everyone who waited for a connection.
func (c *Catalog) opened(m opened) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	waiting := s.awaitingStart[m.key]
	if len(waiting) == 0 { // it was started twice, and the callers have their answer
		// Or the callers now wait for another connection.
		if s.conns[m.key] == nil && (!s.current(m.key) || s.recovery.ServerPause() != nil) {
			c.retire(s, m.key)
		}
		return
	}
	m.ref, m.err = started(m.ref, m.err)
	if errors.Is(m.err, otp.ErrAlreadyPresent) { // the child ended unnoticed
		c.retire(s, m.key)
		return
	}
	if m.err != nil {
		c.refuse(s, m.key, time.Second)
		c.publishState(s)
		c.answerWaiters()
		return
	}
	delete(s.awaitingStart, m.key)
	s.release(m.key.Principal)
	conn := &conn{
		sup: m.ref, ref: m.ref.Child(client.Row), declare: waiting[0].caller.Visible(),
		info: waiting[0].caller.Info, modern: waiting[0].caller.Modern,
	}
	c.add(s, m.key, conn)
	c.publishState(s)
	c.dropCarried(s, m.key)
	// The connection's earlier reports came before it was known here.
	_ = c.p.Send(conn.ref, client.Describe{})
	for _, w := range waiting {
		c.attachSession(s, m.key, conn, w.caller)
		w.reply(conn.ref, nil)
	}
}

// refuse tells all callers that wait for a connection that there is none now. The reason why the
// start failed is internal to the host.
func (c *Catalog) refuse(s *server, key tenant.Key, retry time.Duration) {
	c.dropSubstitutes(s, key)
	waiting := s.awaitingStart[key]
	delete(s.awaitingStart, key)
	s.release(key.Principal)
	for _, w := range waiting {
		w.reply(otp.Ref{}, c.unavailable(s, w.caller, s.failureCause(w.caller), retry))
	}
}
