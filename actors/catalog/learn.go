package catalog

import (
	"bytes"
	"slices"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/telemetry"
)

// learn stores the lists that a server reported. It announces the lists that differ from what
// clients were given, or that the server says have changed.
func (c *Catalog) learn(s *server, r *client.Report) {
	key := anyRevision(r.Key)
	l := c.listing(s, key)
	if conn := s.conns[r.Key]; conn != nil {
		l.declare = visibleCapabilities(s.config, conn.declare)
	}
	lists, short := l.merge(r)
	changed := short != l.short
	var learned []merge.Kind
	for _, k := range merge.Kinds() {
		differs := l.known && merge.Diff(k, l.lists[k], lists[k]).Any() ||
			!l.known && len(lists[k]) > 0
		if changed = changed || differs; differs || slices.Contains(r.Changed, k) {
			learned = append(learned, k)
		}
	}
	if l.served {
		c.announce(r, learned)
	}
	if declared := !l.known ||
		!bytes.Equal(l.facts.Capabilities.Raw(), r.Facts.Capabilities.Raw()); declared {
		c.declare(r.Server, r.Facts)
	}
	another := !l.known || !l.facts.Same(r.Facts)
	if changed || another {
		c.invalidateViews(s, key)
		c.logOddities(s, r.Facts, &lists)
	}
	unheard := !l.known || l.resourcesUnknown()
	l.known, l.stale, l.stored, l.shownUntil = true, false, false, time.Time{}
	l.facts, l.lists, l.short = r.Facts, lists, short
	if unheard && !l.resourcesUnknown() && l.served && c.freesURIs(s, r) {
		c.announce(r, []merge.Kind{merge.Resources})
	}
	c.views.unprepare(l)
	c.ownListsBeside(s, key.Principal)
	s.last = l
	if changed || another || !l.saved {
		c.save(s, key, l)
	}
}

// merge combines the known lists with a report. A list that the new connection has not delivered
// yet keeps its previous contents, unless those are from another program.
func (l *listing) merge(r *client.Report) (client.Lists, [client.Kinds]client.Shortfall) {
	lists, short := r.Lists, r.Shortfalls
	for k := range lists {
		if !short[k].State.Provisional() || !l.known || !l.shownUntil.IsZero() ||
			l.short[k].State.Provisional() {
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

// freesURIs reports whether servers behind s in the configuration have resources. Until s has
// listed its resources for the first time, it might own their URIs, and these may have been listed
// in another form.
func (c *Catalog) freesURIs(s *server, r *client.Report) bool {
	if len(r.Lists[merge.Resources])+len(r.Lists[merge.Templates]) > 0 {
		return false // a change of resources is announced anyway
	}
	return c.haveBehind(s)
}

// haveBehind reports whether servers behind s in the configuration have resources.
func (c *Catalog) haveBehind(s *server) bool {
	is := func(t tenant.Server) bool { return t.Name == s.config.Name }
	at := slices.IndexFunc(c.tenant.Servers, is)
	for _, config := range c.tenant.Servers[at+1:] {
		if last := c.servers[config.Name].last; last != nil &&
			len(last.lists[merge.Resources])+len(last.lists[merge.Templates]) > 0 {
			return true
		}
	}
	return false
}

// announceBehind announces that the URIs of the servers behind s are listed in another form: s has
// never listed its own resources, and a quarantine of these connections to it begins or ends.
func (c *Catalog) announceBehind(s *server, keys []tenant.Key) {
	if !c.haveBehind(s) {
		return
	}
	for _, key := range keys {
		key = anyRevision(key.First())
		if l := s.lists[key]; l != nil && l.served && (!l.known || l.resourcesUnknown()) {
			c.noteChange(merge.Resources.Changed(), notification.Source{Key: key})
		}
	}
	c.announceLater()
}

// invalidateViews forgets the views with lists from one kind of connection.
func (c *Catalog) invalidateViews(s *server, key tenant.Key) {
	c.views.forget(func(g group) bool {
		return (g.server == "" || g.server == s.config.Name) &&
			anyRevision(s.at(listKey(s.config, g.principal, g.fingerprint, g.modern))) == key
	})
}

// logOddities finds the items of a server that the aggregate's list repairs or omits. It logs a
// finding that is not among those of the last time.
func (c *Catalog) logOddities(s *server, facts client.Facts, lists *client.Lists) {
	for _, k := range merge.Kinds() {
		odd := merge.ItemIssues(k, facts.Version.Era() == protocol.Legacy, lists[k])
		for _, o := range odd {
			if !slices.Contains(s.oddities[k], o) {
				c.o.Emit(telemetry.ItemsOdd{
					Where: telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name},
					List:  k.String(), Action: string(o.Action), Count: uint32(o.Count),
					First:  telemetry.Clean(o.First, telemetry.MaxValue),
					Reason: telemetry.Clean(o.Why, telemetry.MaxValue),
				})
			}
		}
		s.oddities[k] = odd
	}
}
