package catalog

import (
	"slices"
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// waiter is a call that waits for servers that were never listed and are starting.
type waiter struct {
	call     *Look
	deadline time.Time
	at       int // place of the server that it was found to wait for last
}

// look answers with what is known of the caller's servers. It sees to it that those which are not known are being started.
func (c *Catalog) look(call *Look) {
	call.Req.Caller = call.Req.Caller.known()
	caller := call.Req.Caller
	if c.unserved(caller) {
		call.Fail(c.unknown(caller.Server))
		return
	}
	for _, name := range c.scope(caller) {
		c.discover(name, call.Req)
		s := c.servers[name]
		c.hears(s, s.listed(caller), caller)
		c.introduce(s, call.Req)
	}
	w := &waiter{call: call, deadline: c.p.Now().Add(call.Req.Wait)}
	switch {
	case !c.mustWait(w):
		c.answer(w)
	case len(c.waiting) >= MaxWaiting:
		call.Fail(protocol.Overloaded("catalogue", time.Second))
	default:
		c.waiting = append(c.waiting, w)
		c.o.Waited.Note(len(c.waiting))
		c.p.After(w.deadline.Sub(c.p.Now()), overdue{})
	}
}

// unserved reports whether a caller sees a single server that is not configured.
func (c *Catalog) unserved(caller Caller) bool {
	s := c.servers[caller.Server]
	return caller.Server != "" && (s == nil || s.gone)
}

// discover starts the connection that a server's lists come from, unless they are known, and as new as the caller wants, or it is there.
func (c *Catalog) discover(name string, r LookRequest) {
	s, caller := c.servers[name], r.Caller
	key := s.listed(caller)
	l := c.listing(s, key)
	anew := r.Anew || r.Remote && s.config.Link() != tenant.Stdio
	if at := s.at(key); !l.due(s.config) && !anew || s.conns[at] != nil || len(s.opening[at]) > 0 {
		return
	}
	l.declare = declared(s.config, caller.Told())
	caller.Session = "" // to look is no reason to keep the server for this session
	c.connect(s, s.at(key), pending{nil, caller})
}

// mustWait reports whether some server is still worth waiting for: never listed, starting, and not
// waited for in vain, by whomever. Who sees one server alone has nothing else to wait for. The search
// begins at the server that was found last, so that a burst of servers costs a waiter each of them
// once.
func (c *Catalog) mustWait(w *waiter) bool {
	now, caller := c.p.Now(), w.call.Req.Caller
	if !now.Before(w.deadline) || c.unserved(caller) {
		return false
	}
	names := c.scope(caller)
	for i := range names {
		at := (w.at + i) % len(names)
		if c.awaits(w.call.Req, names[at], now) {
			w.at = at
			return true
		}
	}
	return false
}

// awaits reports whether a server is worth waiting for.
func (c *Catalog) awaits(r LookRequest, name string, now time.Time) bool {
	if r.For != "" && r.For != name {
		return false
	}
	s := c.servers[name]
	key := s.listed(r.Caller)
	l := c.listing(s, key)
	return s.owes(key, r, r.For == name) &&
		(r.Caller.Server != "" || !s.vain && now.Sub(l.since) < c.tenant.Limits.ListWait)
}

// owes reports whether a server is on its way to what a request is answered with; again counts one
// that has failed and is being started again.
func (s *server) owes(key tenant.Key, r LookRequest, again bool) bool {
	l := s.lists[key]
	if !l.known {
		return s.startingUp(s.at(key), again)
	}
	return s.conns[s.at(key)] != nil && slices.ContainsFunc(r.Lists, func(k merge.Kind) bool { return l.short[k].State == client.Waiting })
}

// startingUp reports whether a connection is on its way to its first list; again counts one that has failed and is being started again.
func (s *server) startingUp(key tenant.Key, again bool) bool {
	if len(s.opening[key]) > 0 {
		return true
	}
	conn := s.conns[key]
	if conn == nil || s.recovery.Whole() != nil {
		return false
	}
	state := conn.report.State
	return state == client.Starting || state == "" || again && state == client.Backoff
}

// flush answers whoever need not wait any longer.
func (c *Catalog) flush() {
	still := c.waiting[:0]
	for _, w := range c.waiting {
		if c.mustWait(w) {
			still = append(still, w)
		} else {
			c.answer(w)
		}
	}
	clear(c.waiting[len(still):])
	c.waiting = still
}

// answer gives a caller what is known. One who sees a single server that is not known is told why.
func (c *Catalog) answer(w *waiter) {
	caller := w.call.Req.Caller
	if c.unserved(caller) { // it was configured when they asked
		w.call.Fail(c.unknown(caller.Server))
		return
	}
	c.gaveUpOn(w)
	v := c.view(caller)
	if s := c.servers[caller.Server]; s != nil && len(v.Missing) > 0 {
		key, cause := s.listed(caller), s.why(caller)
		if cause == nil && s.startingUp(s.at(key), false) {
			cause = client.StillStarting()
		}
		w.call.Fail(c.unavailable(s, caller, cause, s.recovery.Wait(key, c.p.Now())))
		return
	}
	w.call.Reply(v)
}

// gaveUpOn takes note of which servers have been waited for in vain, so that they delay nobody else's first list, and writes it down for the
// next host. A server that is ready for somebody is not in vain for others.
func (c *Catalog) gaveUpOn(w *waiter) {
	for _, name := range c.scope(w.call.Req.Caller) {
		s := c.servers[name]
		key := s.listed(w.call.Req.Caller)
		l := c.listing(s, key)
		if l.known || c.p.Now().Sub(l.since) < c.tenant.Limits.ListWait {
			continue
		}
		s.vain = s.vain || s.startingUp(s.at(key), false) && !s.ready()
		if !l.saved {
			c.save(s, key, l)
		}
	}
}
