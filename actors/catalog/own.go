package catalog

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
)

// Instances of one server may list different things: a call has added a tool to one of them. What a
// session's own connection lists is shown to that session. What an instance that shares the calls
// of a connection lists beside that is shown to all who share it.

// differs reports whether what a session's own connection lists is not what is shown.
func (conn *conn) differs(l *listing) bool {
	if conn.report.State != client.Ready || l == nil || !l.known {
		return false
	}
	for _, k := range merge.Kinds() {
		if !conn.report.Short[k].State.Provisional() &&
			merge.Diff(k, l.lists[k], conn.report.Lists[k]).Any() {
			return true
		}
	}
	return false
}

// ownLists takes note of whether the session of a connection has lists of its own, after that or
// what others are shown has changed.
func (c *Catalog) ownLists(s *server, key tenant.Key, conn *conn) {
	if key.Share != tenant.BySession || !s.current(key) {
		return
	}
	before := conn.own
	conn.own = conn.differs(s.lists[c.shownTo(s, key, conn)])
	if before || conn.own {
		c.views.forget(func(g group) bool { return g.own == key.Session })
	}
}

// ownListsBeside does so for all sessions of a principal, which is empty for all principals. Their
// order does not matter.
func (c *Catalog) ownListsBeside(s *server, principal string) {
	for key, conn := range s.conns {
		if principal == "" || key.Principal == principal {
			c.ownLists(s, key, conn)
		}
	}
}

// shownTo is where the lists come from that the session of a connection is shown otherwise.
func (c *Catalog) shownTo(s *server, key tenant.Key, conn *conn) tenant.Key {
	return s.listed(Caller{
		Principal: key.Principal, Capabilities: conn.declare, Info: conn.info, Modern: conn.modern,
	})
}

// owns is the caller's connection to a server, if it has lists of its own.
func (s *server) owns(caller Caller) *conn {
	if caller.Session == "" || s.config.Share.Applied(s.config.Link()) != tenant.BySession {
		return nil
	}
	if conn := s.conns[s.at(Key(s.config, caller))]; conn != nil && conn.own {
		return conn
	}
	return nil
}

// unlistOwn forgets what a connection listed that has ended.
func (c *Catalog) unlistOwn(s *server, key tenant.Key, conn *conn) {
	switch {
	case conn.own:
		c.views.forget(func(g group) bool { return g.own == key.Session })
	case key.Instance > 0:
		c.instanceLists(s, key, listedBy(conn), conn.report.Lists, client.Lists{})
	}
}

// listedBy are the lists that an instance has said anything of.
func listedBy(conn *conn) (kinds []merge.Kind) {
	for _, k := range merge.Kinds() {
		if len(conn.report.Lists[k]) > 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// instanceLists tells those who share a connection that another instance of it lists something
// else, if that changes what they are shown. Instances that watch the same thing change alike, and
// the change is announced once.
func (c *Catalog) instanceLists(s *server, key tenant.Key, changed []merge.Kind, before, after client.Lists) {
	if len(changed) == 0 || !s.current(key) {
		return
	}
	first := key.First()
	c.outdate(s, anyRevision(first))
	changed = slices.DeleteFunc(slices.Clone(changed), func(k merge.Kind) bool {
		rest := s.without(key, k)
		return !merge.Diff(k, merge.Beside(k, rest, before[k]), merge.Beside(k, rest, after[k])).Any()
	})
	c.announce(&client.Report{Server: s.config.Name, Key: first}, changed)
}

// without is what is listed over a connection and its instances, but for one of these.
func (s *server) without(instance tenant.Key, k merge.Kind) (items []jsontext.Value) {
	first := instance.First()
	if l := s.lists[anyRevision(first)]; l != nil {
		items = l.lists[k]
	}
	for _, conn := range s.instances(first) {
		if conn.report.Key != instance {
			items = merge.Beside(k, items, conn.report.Lists[k])
		}
	}
	return items
}

// instances are the other instances of a connection, in order.
func (s *server) instances(first tenant.Key) (list []*conn) {
	for key, conn := range s.conns {
		if key.Instance > 0 && key.First() == first && conn.report.State == client.Ready {
			list = append(list, conn)
		}
	}
	slices.SortFunc(list, func(a, b *conn) int {
		return cmp.Compare(a.report.Key.Instance, b.report.Key.Instance)
	})
	return list
}

// seen is what a caller is shown of a server that has listed something. Shared says that these are
// the lists of the listing.
func (s *server) seen(caller Caller, l *listing) (
	lists client.Lists, short [client.Kinds]client.Shortfall, shared bool,
) {
	lists, short, shared = l.lists, l.short, true
	for _, beside := range s.instances(s.at(ListKey(s.config, caller))) {
		for k := range lists {
			lists[k] = merge.Beside(merge.Kind(k), lists[k], beside.report.Lists[k])
			shared = shared && len(lists[k]) == len(l.lists[k])
		}
	}
	own := s.owns(caller)
	if own == nil {
		return lists, short, shared
	}
	for k := range lists {
		if !own.report.Short[k].State.Provisional() {
			lists[k], short[k] = own.report.Lists[k], own.report.Short[k]
		}
	}
	return lists, short, false
}

// hasOwn reports whether a caller has lists of its own of some server.
func (c *Catalog) hasOwn(caller Caller) bool {
	return slices.ContainsFunc(c.scope(caller), func(name string) bool {
		return c.servers[name].owns(caller) != nil
	})
}
