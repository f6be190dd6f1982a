package catalog

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// waiter is a request that waits for servers that were never listed and are starting.
type waiter struct {
	caller   Caller
	deadline time.Time
	answer   func(missing []string)
	fail     func(error)
}

// await runs answer when every server the caller sees is known, or cannot be known soon.
func (c *Catalog) await(w *waiter) {
	for _, name := range c.scope(w.caller) {
		s, key := c.servers[name], c.listKey(name, w.caller)
		l := s.listing(key)
		if l.known {
			continue
		}
		if l.since.IsZero() {
			l.since = c.p.Now()
			c.p.After(c.o.Tenant.Limits.ListWait, overdue{})
		}
		if s.conns[key] == nil {
			caller := w.caller
			if caller.Server == "" {
				caller.Session = "" // the lists of the aggregate are nobody's in particular
			}
			c.connect(name, key, caller, nil)
		}
	}
	if !c.mustWait(w) {
		w.answer(c.missing(w.caller))
		return
	}
	if len(c.waiting) >= MaxWaiting {
		w.fail(protocol.Overloaded("too many requests wait for servers to start"))
		return
	}
	c.waiting = append(c.waiting, w)
	c.p.After(w.deadline.Sub(c.p.Now()), overdue{})
}

// mustWait reports whether some server is still worth waiting for: never listed, starting, and not for longer than a list may wait.
func (c *Catalog) mustWait(w *waiter) bool {
	now := c.p.Now()
	if !now.Before(w.deadline) {
		return false
	}
	for _, name := range c.scope(w.caller) {
		s, key := c.servers[name], c.listKey(name, w.caller)
		l := s.listing(key)
		if l.known || now.Sub(l.since) >= c.o.Tenant.Limits.ListWait {
			continue
		}
		if len(s.opening[key]) > 0 {
			return true
		}
		if conn := s.conns[key]; conn != nil && (conn.report.State == client.Starting || conn.report.State == "") {
			return true
		}
	}
	return false
}

// flush answers whoever need not wait any longer.
func (c *Catalog) flush() {
	still := c.waiting[:0]
	for _, w := range c.waiting {
		if c.mustWait(w) {
			still = append(still, w)
		} else {
			w.answer(c.missing(w.caller))
		}
	}
	clear(c.waiting[len(still):])
	c.waiting = still
}

// scope is the servers a caller sees, in configuration order.
func (c *Catalog) scope(caller Caller) []string {
	if caller.Server != "" {
		if _, ok := c.servers[caller.Server]; !ok {
			return nil
		}
		return []string{caller.Server}
	}
	names := make([]string, 0, len(c.o.Tenant.Servers))
	for _, s := range c.o.Tenant.Servers {
		names = append(names, s.Name)
	}
	return names
}

func (c *Catalog) missing(caller Caller) (names []string) {
	for _, name := range c.scope(caller) {
		if !c.servers[name].listing(c.listKey(name, caller)).known {
			names = append(names, name)
		}
	}
	return names
}

// describe answers what initialize needs to know.
func (c *Catalog) describe(m *Describe) {
	caller := m.Req.Caller
	c.await(&waiter{
		caller: caller, deadline: c.p.Now().Add(m.Req.Wait), fail: m.Fail,
		answer: func(missing []string) {
			if caller.Server != "" {
				c.describeOne(m, missing)
				return
			}
			d := Description{Missing: missing}
			var servers []merge.Described
			for _, name := range c.scope(caller) {
				if l := c.servers[name].listing(c.listKey(name, caller)); l.known {
					servers = append(servers, merge.Described{Server: name, Capabilities: l.facts.Capabilities, Instructions: l.facts.Instructions})
				}
			}
			d.Capabilities = merge.Capabilities(servers, len(missing) > 0)
			d.Instructions = merge.Instructions(servers)
			m.Reply(d)
		},
	})
}

// describeOne answers for a transparent endpoint, which has nothing to say without its server.
func (c *Catalog) describeOne(m *Describe, missing []string) {
	name := m.Req.Caller.Server
	s, ok := c.servers[name]
	if !ok {
		m.Fail(protocol.UnknownServer(name))
		return
	}
	if len(missing) > 0 {
		m.Fail(protocol.UpstreamUnavailable(name, string(s.state), s.cause, time.Until(s.retry)))
		return
	}
	l := s.listing(c.listKey(name, m.Req.Caller))
	m.Reply(Description{Capabilities: l.facts.Capabilities, Instructions: l.facts.Instructions, Facts: l.facts})
}

// list answers one page of the aggregate.
func (c *Catalog) list(m *List) {
	caller, kind := m.Req.Caller, m.Req.Kind
	c.await(&waiter{
		caller: caller, deadline: c.p.Now().Add(c.o.Tenant.Limits.ListWait), fail: m.Fail,
		answer: func([]string) {
			page, err := merge.Page(c.merged(caller, kind), kind.Member(), m.Req.Cursor)
			if err != nil {
				m.Fail(err)
				return
			}
			for _, name := range c.scope(caller) {
				c.servers[name].listing(c.listKey(name, caller)).served[kind] = true
			}
			m.Reply(page)
		},
	})
}

// merged is the caller's list of one kind over all servers.
func (c *Catalog) merged(caller Caller, kind client.Kind) []jsontext.Value {
	var servers []merge.Items
	for _, name := range c.scope(caller) {
		if l := c.servers[name].listing(c.listKey(name, caller)); l.known {
			servers = append(servers, merge.Items{Server: name, Items: l.lists[kind]})
		}
	}
	return merge.Merge(kind.Member(), servers)
}

// resolve finds where a name or URI of the aggregate leads.
func (c *Catalog) resolve(m *Resolve) {
	caller := m.Req.Caller
	c.await(&waiter{
		caller: caller, deadline: c.p.Now().Add(c.o.Tenant.Limits.ListWait), fail: m.Fail,
		answer: func([]string) {
			// …
		},
	})
}

var _ = otp.ErrNoProc
