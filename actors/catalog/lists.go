package catalog

import (
	"bytes"
	"slices"
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/protocol"
)

// MaxListings bounds the lists kept of one server: one for each way of asking it.
const MaxListings = 256

// listing is what a server listed last over one kind of connection. It outlives the connection.
type listing struct {
	declare protocol.ClientCapabilities // by those who see it
	facts   client.Facts
	lists   client.Lists
	short   [client.Kinds]client.Shortfall // how each of the lists is less than what the server has
	known   bool                           // there are facts, and lists but for what is short
	stale   bool                           // it is what the server listed before it was declared otherwise
	until   time.Time                      // it is that of another program, and is shown until then; zero when it is not
	stored  bool                           // it is what the server listed to an earlier host
	saved   bool                           // it was written down as it is
	served  bool                           // a client was given a view while this one was as it is, or not yet known
	since   time.Time                      // when it was first waited for
}

// sizeOf is how many bytes lists keep.
func sizeOf(lists *client.Lists) (n int) {
	for _, items := range lists {
		for _, item := range items {
			n += len(item)
		}
	}
	return n
}

// beside is how many bytes a connection keeps beside the listing that came from it, if any.
func (c *conn) beside(l *listing) int {
	for k, items := range c.report.Lists {
		if len(items) > 0 && (l == nil || len(l.lists[k]) == 0 || &l.lists[k][0] != &items[0]) {
			return c.said
		}
	}
	return c.report.Facts.Size()
}

// countLists counts the lists of all servers, and what else they have said of themselves.
func (c *Catalog) countLists() {
	n := 0
	for _, s := range c.servers {
		for _, l := range s.lists {
			n += l.facts.Size() + sizeOf(&l.lists)
		}
		for key, conn := range s.conns {
			n += conn.beside(s.lists[anyRevision(key)])
		}
	}
	c.o.Kept.Set(quota.Lists, n)
}

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
		call.Fail(protocol.EndpointNotFound())
		return
	}
	for _, name := range c.scope(caller) {
		c.discover(name, call.Req)
		s := c.servers[name]
		c.hears(s, s.listed(caller), caller)
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
	if at := s.at(key); !l.due(s.config) && !r.Anew || s.conns[at] != nil || len(s.opening[at]) > 0 {
		return
	}
	l.declare = declared(s.config, caller.Told())
	caller.Session = "" // to look is no reason to keep the server for this session
	c.connect(s, s.at(key), pending{nil, caller})
}

// due reports whether a look is reason enough to ask the server. What a program listed to an earlier host is believed until somebody needs
// the program: it is dear. Whatever else there is costs next to nothing.
func (l *listing) due(s tenant.Server) bool {
	return !l.known || l.stale || l.stored && s.Link() != tenant.Stdio
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
	if conn == nil || s.whole != nil {
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
		w.call.Fail(protocol.EndpointNotFound())
		return
	}
	c.gaveUpOn(w)
	v := c.view(caller)
	if s := c.servers[caller.Server]; s != nil && len(v.Missing) > 0 {
		key, cause := s.listed(caller), s.why(caller)
		if cause == nil && s.startingUp(s.at(key), false) {
			cause = client.StillStarting()
		}
		w.call.Fail(c.unavailable(s, caller, cause, s.paused(key, c.p.Now())))
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

// group is the callers who see the same.
type group struct {
	principal, server string
	fingerprint       protocol.Fingerprint
	modern            bool
	withheld          string // see Catalog.withheld
	answers           bool   // see server.answers
	pending           string // the first server that may have URIs which nobody knows; see mayOwn
	own               string // the session that has lists of its own: see Catalog.ownLists
}

// mayOwn reports whether a server has not told a caller its resources yet, and may still do so. One
// that is quarantined, or whose list fails, may not: it would keep URIs from all servers behind it for
// as long as it is broken.
func (c *Catalog) mayOwn(s *server, caller Caller) bool {
	key := s.listed(caller)
	if l := s.lists[key]; l != nil && l.known {
		return l.awaited()
	}
	p := s.pauses[s.at(key)]
	return s.whole == nil && (p == nil || !p.quarantined())
}

// awaited reports whether the server has been asked for its resources and has never answered.
func (l *listing) awaited() bool {
	return l.short[merge.Resources].State == client.Waiting || l.short[merge.Templates].State == client.Waiting
}

// withheld reports whether the policy of a server keeps a list from clients that cannot do what the caller cannot. Who sees the server
// alone is refused; in the list of all, what it has is left out.
func (c *Catalog) withheld(caller Caller, name string, k merge.Kind) bool {
	needs, ok := c.servers[name].config.Require[k.Method()]
	return ok && caller.Server == "" && !caller.Capabilities.Has(needs)
}

// group is whose view a caller sees.
func (c *Catalog) group(caller Caller) group {
	g := group{principal: caller.Principal, server: caller.Server, fingerprint: caller.fingerprint(), modern: caller.Modern}
	if c.hasOwn(caller) {
		g.own = caller.Session
	}
	if caller.Server != "" {
		g.answers = c.servers[caller.Server].answers(caller)
	}
	for _, name := range c.scope(caller) {
		if g.pending == "" && caller.Server == "" && c.mayOwn(c.servers[name], caller) {
			g.pending = name
		}
		for _, k := range merge.Kinds() {
			if c.withheld(caller, name, k) {
				g.withheld += name + " " + k.String() + " "
			}
		}
	}
	return g
}

// view is what the caller sees now. It is made once for all who see the same, and again after a change.
func (c *Catalog) view(caller Caller) *View {
	g := c.group(caller)
	if v := c.views.get(g); v != nil {
		return v
	}
	v := &View{Answers: g.answers, alone: caller.Server != "", account: c.o.Kept, References: c.references}
	var words [client.Kinds]map[string]string // of lists that are less than what their servers have
	told := func(k merge.Kind, name, text string) {
		if words[k] == nil {
			words[k] = map[string]string{}
		}
		words[k][name] = text
	}
	var servers []merge.Server
	for _, name := range c.scope(caller) {
		l := c.listing(c.servers[name], c.servers[name].listed(caller))
		l.served = true
		item := merge.Server{Name: name, Pending: name == g.pending}
		if l.known {
			lists, short, shared := c.servers[name].seen(caller, l)
			item.Items = lists
			if shared && !v.alone {
				item.Prepared = c.views.prepare(l)
			}
			for _, k := range merge.Kinds() {
				if c.withheld(caller, name, k) {
					item.Items[k] = nil
				}
			}
			v.Servers = append(v.Servers, Known{name, l.facts})
			for _, k := range merge.Kinds() {
				if short[k].State != client.Complete && !c.withheld(caller, name, k) {
					told(k, name, short[k].Words)
				}
			}
			if v.alone {
				v.own, v.short = lists, short
			}
			if v.alone && l.facts.Version.Era() == protocol.Modern {
				v.annotated = lists[merge.Tools]
			}
		} else {
			v.Missing = append(v.Missing, name)
			for _, k := range merge.Kinds() {
				told(k, name, "it has not listed anything yet")
			}
		}
		servers = append(servers, item)
	}
	v.Catalog = merge.New(servers)
	c.views.keepPrepared(c.o.Kept)
	for _, k := range merge.Kinds() {
		v.incomplete[k] = merge.Incomplete(words[k])
	}
	c.extras(v)
	c.views.put(g, v)
	return v
}

// scope is the servers a caller sees, in configuration order. It must not be changed.
func (c *Catalog) scope(caller Caller) []string {
	if caller.Server != "" {
		return []string{caller.Server}
	}
	return c.names
}

// listing is what a server has listed over a kind of connection.
func (c *Catalog) listing(s *server, key tenant.Key) *listing {
	if l := s.lists[key]; l != nil {
		return l
	}
	if len(s.lists) >= MaxListings {
		eldest := s.eldest(key.Principal)
		c.unsave(s, eldest)
		c.views.unprepare(s.lists[eldest])
		delete(s.lists, eldest)
		c.countLists()
	}
	l := &listing{since: c.p.Now()}
	s.lists[key] = l
	c.p.After(c.tenant.Limits.ListWait, overdue{}) // nobody waits for it any longer
	return l
}

// eldest is the listing that makes room for another of a principal: the one that was learnt first of its own, if it has any.
func (s *server) eldest(principal string) (found tenant.Key) {
	var first *listing
	for k, l := range order.By(s.lists, tenant.Key.Compare) {
		own := k.Principal == principal
		switch {
		case first == nil, own && found.Principal != principal, own == (found.Principal == principal) && l.since.Before(first.since):
			found, first = k, l
		}
	}
	return found
}

// learn stores what a server listed, and announces to clients what is different from what they were given, or said to be by the server.
func (c *Catalog) learn(s *server, r *client.Report) {
	key := anyRevision(r.Key)
	l := c.listing(s, key)
	if conn := s.conns[r.Key]; conn != nil {
		l.declare = declared(s.config, conn.declare)
	}
	lists, short := l.merge(r)
	changed := short != l.short
	var news []merge.Kind
	for _, k := range merge.Kinds() {
		differs := l.known && merge.Diff(k, l.lists[k], lists[k]).Any() || !l.known && len(lists[k]) > 0
		if changed = changed || differs; differs || slices.Contains(r.Changed, k) {
			news = append(news, k)
		}
	}
	if l.served {
		c.announce(r, news)
	}
	if declared := !l.known || !bytes.Equal(l.facts.Capabilities.Raw(), r.Facts.Capabilities.Raw()); declared {
		c.declare(r.Server, r.Facts)
	}
	another := !l.known || !l.facts.Same(r.Facts)
	if changed || another {
		c.outdate(s, key)
		c.noteOdd(s, r.Facts, &lists)
	}
	if (!l.known || l.awaited()) && l.served && c.frees(s, r) {
		c.announce(r, []merge.Kind{merge.Resources})
	}
	l.known, l.stale, l.stored, l.until, l.facts, l.lists, l.short = true, false, false, time.Time{}, r.Facts, lists, short
	c.views.unprepare(l)
	c.ownListsBeside(s, key.Principal)
	s.last = l
	if changed || another || !l.saved {
		c.save(s, key, l)
	}
}

// merge is what is known of the lists after a report. One that the server owes its new connection is
// shown as it was before, unless that was another program's.
func (l *listing) merge(r *client.Report) (client.Lists, [client.Kinds]client.Shortfall) {
	lists, short := r.Lists, r.Short
	for k := range lists {
		if !short[k].State.Provisional() || !l.known || !l.until.IsZero() || l.short[k].State.Provisional() {
			continue
		}
		lists[k] = l.lists[k]
		if short[k].State == client.Failed {
			short[k].State = client.Older
		} else {
			short[k] = l.short[k]
		}
	}
	return lists, short
}

// frees reports whether servers behind one that has listed for the first time have resources, which
// may have kept their own URIs from no client because of it.
func (c *Catalog) frees(s *server, r *client.Report) bool {
	if len(r.Lists[merge.Resources])+len(r.Lists[merge.Templates]) > 0 {
		return false // that is told anyway
	}
	for _, config := range c.tenant.Servers[slices.IndexFunc(c.tenant.Servers, func(t tenant.Server) bool { return t.Name == r.Server })+1:] {
		if behind := c.servers[config.Name]; behind.last != nil && len(behind.last.lists[merge.Resources])+len(behind.last.lists[merge.Templates]) > 0 {
			return true
		}
	}
	return false
}

// outdate forgets the views of those who see what is listed over a kind of connection.
func (c *Catalog) outdate(s *server, key tenant.Key) {
	c.views.forget(func(g group) bool {
		return (g.server == "" || g.server == s.config.Name) && anyRevision(s.at(listKey(s.config, g.principal, g.fingerprint, g.modern))) == key
	})
}
