package catalog

import (
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
	// it is what the server listed before it was declared otherwise
	stale bool
	// it is that of another program, and is shown until then; zero when it is not
	until  time.Time
	stored bool // it is what the server listed to an earlier host
	saved  bool // it was written down as it is
	// a client was given a view while this one was as it is, or not yet known
	served bool
	since  time.Time // when it was first waited for
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

// countLists counts the lists of a server, and what else it has said of itself. One that is not
// configured any more keeps nothing.
func (c *Catalog) countLists(s *server) {
	n := 0
	if c.servers[s.config.Name] == s {
		for _, l := range s.lists {
			n += l.facts.Size() + sizeOf(&l.lists)
		}
		for key, conn := range s.conns {
			n += conn.beside(s.lists[anyRevision(key)])
		}
	}
	c.listed += n - s.counted
	s.counted = n
	c.o.Kept.Set(quota.Lists, c.listed)
}

// due reports whether a look is reason enough to ask the server. What a program listed to an
// earlier host is believed until somebody needs the program: it is dear. Whatever else there is
// costs next to nothing.
func (l *listing) due(s tenant.Server) bool {
	return !l.known || l.stale || l.stored && s.Link() != tenant.Stdio
}

// owesResources reports whether the server has never said which resources it has: it has not
// answered yet, or could not list them.
func (l *listing) owesResources() bool {
	return l.short[merge.Resources].State.Provisional() ||
		l.short[merge.Templates].State.Provisional()
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
		c.countLists(s)
	}
	l := &listing{since: c.p.Now()}
	s.lists[key] = l
	c.p.After(c.tenant.Limits.ListWait, overdue{}) // nobody waits for it any longer
	return l
}

// eldest is the listing that makes room for another of a principal: the one that was learnt first
// of its own, if it has any.
func (s *server) eldest(principal string) (found tenant.Key) {
	var first *listing
	for k, l := range order.By(s.lists, tenant.Key.Compare) {
		own := k.Principal == principal
		switch {
		case first == nil,
			own && found.Principal != principal,
			own == (found.Principal == principal) && l.since.Before(first.since):
			found, first = k, l
		}
	}
	return found
}
