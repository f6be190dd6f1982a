package catalog

import (
	"slices"
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// waiter is a call that waits for servers that are starting and have never listed anything.
type waiter struct {
	call     *Look
	deadline time.Time
	at       int // position of the server that it waits for
}

// look answers with the caller's view. It starts servers whose lists are not known.
func (c *Catalog) look(call *Look) {
	call.Req.Caller = call.Req.Caller.withFingerprint()
	caller := call.Req.Caller
	if c.unserved(caller) {
		call.Fail(c.unknown(caller.Server))
		return
	}
	for _, name := range c.scope(caller) {
		c.discover(name, call.Req)
		s := c.servers[name]
		c.registerSubstitute(s, s.listed(caller), caller)
		c.introduce(s, call.Req)
	}
	w := &waiter{call: call, deadline: c.p.Now().Add(call.Req.Wait)}
	switch {
	case !c.mustWait(w):
		c.answer(w)
	case len(c.waiting) >= MaxWaiting:
		call.Fail(protocol.Overloaded("catalogue", time.Second))
	default:
		call.AnswerLater()
		c.waiting = append(c.waiting, w)
		c.o.Waited.Note(len(c.waiting))
		c.p.After(w.deadline.Sub(c.p.Now()), overdue{})
	}
}

// unserved reports whether a caller is at the endpoint of a server that is not configured.
func (c *Catalog) unserved(caller Caller) bool {
	s := c.servers[caller.Server]
	return caller.Server != "" && (s == nil || s.unconfigured)
}

// discover starts the connection from which a server's lists come. It does nothing if the lists are
// known and fresh enough for the caller, or the connection exists.
func (c *Catalog) discover(name string, r LookRequest) {
	s, caller := c.servers[name], r.Caller
	key := s.listed(caller)
	l := c.listing(s, key)
	anew := r.Refresh || r.RefreshRemote && s.config.Link() != tenant.Stdio
	if at := s.at(key); !l.due(s.config) && !anew || s.conns[at] != nil ||
		len(s.awaitingStart[at]) > 0 {
		return
	}
	l.declare = visibleCapabilities(s.config, caller.Visible())
	caller.Session = "" // a look is no reason to keep the server for this session
	c.connect(s, s.at(key), pending{nil, caller})
}

// mustWait reports whether any server is still worth waiting for: it is starting, has never listed
// anything, and no caller has timed out waiting for it. On a transparent endpoint the last
// condition does not apply. The search starts at the server found last, so that a waiter examines
// each of many servers only once.
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
	return s.isListing(key, r, r.For == name) &&
		(r.Caller.Server != "" || !s.timedOut && now.Sub(l.since) < c.tenant.Limits.ListWait)
}

// isListing reports whether a server is still to deliver what the request needs. With again, a
// server that has failed and is being restarted counts too.
func (s *server) isListing(key tenant.Key, r LookRequest, again bool) bool {
	l := s.lists[key]
	if !l.known {
		return s.startingUp(s.at(key), again)
	}
	return s.conns[s.at(key)] != nil && slices.ContainsFunc(r.Lists, func(k merge.Kind) bool {
		return l.short[k].State == client.Waiting
	})
}

// startingUp reports whether a connection is being started, and has not delivered its first list.
// With again, a connection that has failed and is being restarted counts too.
func (s *server) startingUp(key tenant.Key, again bool) bool {
	if len(s.awaitingStart[key]) > 0 {
		return true
	}
	conn := s.conns[key]
	if conn == nil || s.recovery.ServerPause() != nil {
		return false
	}
	state := conn.report.State
	return state == client.Starting || state == "" || again && state == client.Backoff
}

// answerWaiters answers every waiter that need not wait any longer.
func (c *Catalog) answerWaiters() {
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

// answer replies with the current view. A caller at the endpoint of one unknown server is told why
// it is unknown.
func (c *Catalog) answer(w *waiter) {
	caller := w.call.Req.Caller
	if c.unserved(caller) { // it was configured when the caller asked
		w.call.Fail(c.unknown(caller.Server))
		return
	}
	c.noteTimedOut(w)
	v := c.view(caller)
	if s := c.servers[caller.Server]; s != nil && len(v.Missing) > 0 {
		key, cause := s.listed(caller), s.failureCause(caller)
		if cause == nil && s.startingUp(s.at(key), false) {
			cause = client.StillStarting()
		}
		w.call.Fail(c.unavailable(s, caller, cause, s.recovery.Wait(key, c.p.Now())))
		return
	}
	w.call.Reply(v)
}

// noteTimedOut notes the servers on which a caller has timed out, so that they delay no other
// caller's first list. The note is stored for the next host. A server that is ready for some
// callers does not count as timed out for others.
func (c *Catalog) noteTimedOut(w *waiter) {
	for _, name := range c.scope(w.call.Req.Caller) {
		s := c.servers[name]
		key := s.listed(w.call.Req.Caller)
		l := c.listing(s, key)
		if l.known || c.p.Now().Sub(l.since) < c.tenant.Limits.ListWait {
			continue
		}
		s.timedOut = s.timedOut || s.startingUp(s.at(key), false) && !s.ready()
		if !l.saved {
			c.save(s, key, l)
		}
	}
}
