package catalog

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
)

// Instances of one server may have different lists, because a call can add a tool to one of them.
// The lists of a session's own connection are shown to that session. Items that a further instance
// of a shared connection adds are shown to all who share the connection.

// differs reports whether the lists of a session's own connection differ from the shared ones.
func (conn *conn) differs(l *listing) bool {
	if conn.report.State != client.Ready || l == nil || !l.known {
		return false
	}
	for _, k := range merge.Kinds() {
		if !conn.report.Shortfalls[k].State.Provisional() &&
			merge.Diff(k, l.lists[k], conn.report.Lists[k]).Any() {
			return true
		}
	}
	return false
}

// ownLists updates whether the session of a connection has lists of its own. It is called when its
// lists or the shared lists have changed.
func (c *Catalog) ownLists(s *server, key tenant.Key, conn *conn) {
	if key.Share != tenant.BySession || !s.current(key) {
		return
	}
	before := conn.listsDiffer
	conn.listsDiffer = conn.differs(s.lists[c.shownTo(s, key, conn)])
	if before || conn.listsDiffer {
		c.views.forget(func(g group) bool { return g.own == key.Session })
	}
}

// ownListsBeside calls ownLists for all sessions of a principal; an empty principal means all
// sessions. The order does not matter.
func (c *Catalog) ownListsBeside(s *server, principal string) {
	for key, conn := range s.conns {
		if principal == "" || key.Principal == principal {
			c.ownLists(s, key, conn)
		}
	}
}

// shownTo is the key of the shared lists for the session of a connection.
func (c *Catalog) shownTo(s *server, key tenant.Key, conn *conn) tenant.Key {
	return s.listed(Caller{
		Principal: key.Principal, Capabilities: conn.declare, Info: conn.info, Modern: conn.modern,
	})
}

// owns is the caller's own connection to a server, if that has lists of its own.
func (s *server) owns(caller Caller) *conn {
	if caller.Session == "" || s.config.Share.Applied(s.config.Link()) != tenant.BySession {
		return nil
	}
	if conn := s.conns[s.at(Key(s.config, caller))]; conn != nil && conn.listsDiffer {
		return conn
	}
	return nil
}

// unlistOwn forgets the lists of a connection that has ended.
func (c *Catalog) unlistOwn(s *server, key tenant.Key, conn *conn) {
	switch {
	case conn.listsDiffer:
		c.views.forget(func(g group) bool { return g.own == key.Session })
	case key.Instance > 0:
		c.instanceLists(s, key, listedBy(conn), conn.report.Lists, client.Lists{})
	}
}

// listedBy are the lists in which an instance has items.
func listedBy(conn *conn) (kinds []merge.Kind) {
	for _, k := range merge.Kinds() {
		if len(conn.report.Lists[k]) > 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// instanceLists announces a changed list of a further instance of a connection to those who share
// the connection, if it changes what they see. Instances with the same change cause one
// announcement.
func (c *Catalog) instanceLists(s *server, key tenant.Key, changed []merge.Kind,
	before, after client.Lists) {
	if len(changed) == 0 || !s.current(key) {
		return
	}
	first := key.First()
	c.invalidateViews(s, anyRevision(first))
	changed = slices.DeleteFunc(slices.Clone(changed), func(k merge.Kind) bool {
		rest := s.without(key, k)
		return !merge.Diff(k, merge.AddMissing(k, rest, before[k]),
			merge.AddMissing(k, rest, after[k])).Any()
	})
	c.announce(&client.Report{Server: s.config.Name, Key: first}, changed)
}

// without is the combined list of a connection and its further instances, except one of these.
func (s *server) without(instance tenant.Key, k merge.Kind) (items []jsontext.Value) {
	first := instance.First()
	if l := s.lists[anyRevision(first)]; l != nil {
		items = l.lists[k]
	}
	for _, conn := range s.instances(first) {
		if conn.report.Key != instance {
			items = merge.AddMissing(k, items, conn.report.Lists[k])
		}
	}
	return items
}

// instances are the further instances of a connection, in order.
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

// seen returns the lists of a server for a caller. The result shared says that they are exactly
// those of the listing.
func (s *server) seen(caller Caller, l *listing) (
	lists client.Lists, short [client.Kinds]client.Shortfall, shared bool,
) {
	lists, short, shared = l.lists, l.short, true
	for _, beside := range s.instances(s.at(ListKey(s.config, caller))) {
		for k := range lists {
			lists[k] = merge.AddMissing(merge.Kind(k), lists[k], beside.report.Lists[k])
			shared = shared && len(lists[k]) == len(l.lists[k])
		}
	}
	own := s.owns(caller)
	if own == nil {
		return lists, short, shared
	}
	for k := range lists {
		if !own.report.Shortfalls[k].State.Provisional() {
			lists[k], short[k] = own.report.Lists[k], own.report.Shortfalls[k]
		}
	}
	return lists, short, false
}

// hasOwn reports whether a caller has lists of its own from any server.
func (c *Catalog) hasOwn(caller Caller) bool {
	return slices.ContainsFunc(c.scope(caller), func(name string) bool {
		return c.servers[name].owns(caller) != nil
	})
}
