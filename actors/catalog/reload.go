package catalog

import (
	"errors"
	"sync/atomic"
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// Messages that the catalogue sends to itself: an old connection has used up its time, and the
// supervisor of a removed server has ended or is to be ended.
type (
	retireExpired struct {
		server string
		key    tenant.Key
		ref    otp.Ref
	}
	removed struct{ server *server }
	forget  struct{ server string }
	outlast struct{ server string } // the lists of an earlier program have been shown long enough
)

// configure applies the tenant's current configuration. A server with the same declaration keeps
// everything. The old connections of a changed or removed server end when they are no longer used.
// Callers that ask from here on get new ones.
func (c *Catalog) configure() {
	reloaded := c.tenant != nil // and not a new incarnation
	c.tenant = c.o.Tenant()
	c.rows, c.names = map[string]int{}, nil
	c.status = Status{records: make([]atomic.Pointer[Record], len(c.tenant.Servers))}
	for i, config := range c.tenant.Servers {
		c.rows[config.Name], c.names = i, append(c.names, config.Name)
		switch s := c.servers[config.Name]; {
		case s == nil:
			c.servers[config.Name] = newServer(config, c.p.Now())
		case s.unconfigured || s.config.NeedsReconnect(config):
			c.redeclare(s, config)
		default:
			s.config = config
		}
	}
	for name, s := range sortedmap.Sorted(c.servers) {
		if _, still := c.rows[name]; !still && !s.unconfigured {
			c.undeclare(s)
		}
		for key, conn := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
			c.retireOld(s, key, conn)
		}
		c.eager(s)
		c.publishState(s)
		c.forget(s)
	}
	if reloaded {
		c.views.clear()
	}
	c.p.SetStatus(c.status)
	if !c.booting {
		c.booting = c.p.Post(boot{}) == nil
	}
	c.answerWaiters()
}

// redeclare changes the declaration of a server. Its old lists are shown until it has listed again;
// those of another program are shown no longer than a list request may take. Callers that wait for
// a connection wait for a new one. A shared connection is replaced by a new one now, to learn its
// lists.
func (c *Catalog) redeclare(s *server, config tenant.Server) {
	c.revisions++
	another := s.config.IsOtherProgram(config)
	s.config, s.revision, s.unconfigured = config, c.revisions, false
	if s.recovery.ClearFailures() {
		c.announceRelease(s, byReload)
	}
	s.ran, s.timedOut, s.channel = false, false, false
	c.dropAllCarried(s)
	clear(s.substitutes)
	for _, l := range s.lists {
		l.stale = true
		if another && l.known && l.shownUntil.IsZero() {
			l.shownUntil = c.p.Now().Add(c.tenant.Limits.ListWait)
		}
	}
	c.expireLists(s)
	opening := s.awaitingStart
	s.awaitingStart = map[tenant.Key][]pending{}
	for key, waiting := range sortedmap.SortedBy(opening, tenant.Key.Compare) {
		s.release(key.Principal)
		for _, w := range waiting {
			switch {
			case key.Instance > 0:
				w.reply(otp.Ref{}, otp.ErrNoProc)
			case w.answer == nil:
				c.connect(s, s.at(ListKey(config, w.caller)), w)
			default:
				c.connect(s, s.at(s.key(w.caller)), w)
			}
		}
	}
	for key, conn := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
		if key.Instance == 0 && key.Share != tenant.BySession {
			caller := Caller{
				Principal: key.Principal, Capabilities: conn.declare, Info: conn.info, Modern: conn.modern,
			}
			if again := s.at(ListKey(config, caller)); s.conns[again] == nil &&
				len(s.awaitingStart[again]) == 0 {
				c.connect(s, again, pending{nil, caller})
			}
		}
	}
}

// expireLists forgets the lists of another program when their time is over, and schedules itself
// for the rest.
func (c *Catalog) expireLists(s *server) {
	now := c.p.Now()
	var next time.Time
	for key, l := range sortedmap.SortedBy(s.lists, tenant.Key.Compare) {
		switch {
		case l.shownUntil.IsZero():
		case now.Before(l.shownUntil):
			if next.IsZero() || l.shownUntil.Before(next) {
				next = l.shownUntil
			}
		default:
			c.unlist(s, key, l)
		}
	}
	if !next.IsZero() {
		c.p.After(next.Sub(now), outlast{s.config.Name})
	}
}

// unlist forgets a listing, and announces it to those who saw it. A server that is still starting
// has used up its time, and is not waited for again.
func (c *Catalog) unlist(s *server, key tenant.Key, l *listing) {
	c.invalidateViews(s, key)
	c.unsave(s, key)
	c.views.unprepare(l)
	delete(s.lists, key)
	c.countLists(s)
	if s.last == l {
		s.last = nil
	}
	if s.startingUp(s.at(key), false) {
		s.lists[key] = &listing{declare: l.declare, served: l.served, since: l.since}
	}
	if l.served {
		var had []merge.Kind
		for _, k := range merge.Kinds() {
			if len(l.lists[k]) > 0 {
				had = append(had, k)
			}
		}
		c.announce(&client.Report{Server: s.config.Name, Key: s.at(key)}, had)
	}
	c.publishState(s)
}

// undeclare removes a server that is no longer configured.
func (c *Catalog) undeclare(s *server) {
	s.unconfigured = true
	opening := s.awaitingStart
	s.awaitingStart = map[tenant.Key][]pending{}
	for key, waiting := range sortedmap.SortedBy(opening, tenant.Key.Compare) {
		s.release(key.Principal)
		for _, w := range waiting {
			w.reply(otp.Ref{}, protocol.UpstreamRemoved(s.config.Name, false, nil))
		}
	}
	c.dropAllCarried(s)
	for key := range sortedmap.SortedBy(s.lists, tenant.Key.Compare) {
		c.unsave(s, key)
	}
	c.storeQuarantine(s)
}

// retireOld tells a connection of an earlier declaration to end when it is no longer used. It is
// ended at the latest when no call can last any longer.
func (c *Catalog) retireOld(s *server, key tenant.Key, conn *conn) {
	if s.current(key) || conn.dismissed && (conn.removed || !s.unconfigured) {
		return
	}
	first := !conn.dismissed
	conn.dismissed, conn.removed = true, s.unconfigured
	_ = c.p.Send(conn.ref, client.Retire{Removed: s.unconfigured})
	if !first {
		return
	}
	c.p.After(c.tenant.Limits.CallTimeoutMax, retireExpired{s.config.Name, key, conn.ref})
}

func (c *Catalog) overstayed(m retireExpired) {
	s := c.servers[m.server]
	if s == nil || s.current(m.key) || s.conns[m.key] == nil || s.conns[m.key].ref != m.ref {
		return
	}
	if conn := s.conns[m.key]; s.unconfigured {
		c.stop(s, m.key, conn, client.Removed(nil))
	} else {
		c.drop(s, m.key)
		c.retire(s, m.key)
	}
	c.publishState(s)
}

// unknown is the error for a server that is not configured.
func (c *Catalog) unknown(server string) error {
	if c.tenant.WasRemoved(server) {
		return protocol.UpstreamRemoved(server, false, nil)
	}
	return protocol.EndpointNotFound()
}

// forget removes a server that is no longer configured, once its last connection has ended.
func (c *Catalog) forget(s *server) {
	if !s.unconfigured || s.starting || s.removing ||
		len(s.conns)+len(s.awaitingStart)+len(s.retiring) > 0 {
		return
	}
	pool, ok := c.o.Upstreams()
	if !ok {
		delete(c.servers, s.config.Name)
		c.countLists(s)
		c.dropAllCarried(s)
		return
	}
	s.removing = true
	otp.TerminateChildAsync(c.p, pool, s.config.Name, func(err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{forget{s.config.Name}}
		}
		return removed{s}
	})
}

// removed handles the end of a server's supervisor. The server may have been declared again
// meanwhile.
func (c *Catalog) removed(m removed) {
	s := m.server
	delete(c.places, s.sup)
	s.sup, s.removing = otp.Ref{}, false
	if s.unconfigured {
		delete(c.servers, s.config.Name)
		c.countLists(s)
		c.dropAllCarried(s)
		return
	}
	c.bootLater()
}

// reloading handles the messages that follow a reload.
func (c *Catalog) reloading(msg any) {
	switch m := msg.(type) {
	case retireExpired:
		c.overstayed(m)
	case removed:
		c.removed(m)
	case commandStored:
		c.onCommandStored(m)
	case outlast:
		if s := c.servers[m.server]; s != nil {
			c.expireLists(s)
		}
	case forget:
		if s := c.servers[m.server]; s != nil {
			s.removing = false
			c.forget(s)
		}
	}
}

// at returns the key of the connection that callers with this key use under the server's current
// declaration.
func (s *server) at(key tenant.Key) tenant.Key {
	key.Revision = s.revision
	if instead, ok := s.substitutes[key]; ok {
		return instead
	}
	return key
}

// listed is the key of the connection from which a caller's lists come, without the revision.
func (s *server) listed(caller Caller) tenant.Key {
	return anyRevision(s.at(ListKey(s.config, caller)))
}

// current reports whether a key belongs to the server's current declaration.
func (s *server) current(key tenant.Key) bool {
	return !s.unconfigured && key.Revision == s.revision
}

// anyRevision removes the revision from a key, because lists outlive a declaration.
func anyRevision(key tenant.Key) tenant.Key {
	key.Revision = 0
	return key
}
