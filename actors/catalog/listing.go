package catalog

import (
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
)

// MaxListings bounds the listings kept of one server: one for each kind of connection.
const MaxListings = 256

// listing is the last known lists of a server over one kind of connection. It outlives the
// connection.
type listing struct {
	declare protocol.ClientCapabilities // capabilities of the clients that see it
	facts   client.Facts
	lists   client.Lists
	short   [client.Kinds]client.Shortfall // how each list falls short of what the server has
	// facts and lists are set, except for the lists that short marks
	known bool
	// from before the server's declaration changed
	stale bool
	// from another program, and shown until this time; zero otherwise
	shownUntil time.Time
	stored     bool // from an earlier host
	saved      bool // the stored copy is up to date
	// a client was given a view with this listing in its current state, known or not
	served bool
	since  time.Time // when a caller first waited for it
}

// sizeOf is the size of lists in bytes.
func sizeOf(lists *client.Lists) (n int) {
	for _, items := range lists {
		for _, item := range items {
			n += len(item)
		}
	}
	return n
}

// extraBytes is how many bytes a connection keeps in addition to the listing that came from it, if
// any.
func (c *conn) extraBytes(l *listing) int {
	for k, items := range c.report.Lists {
		if len(items) > 0 && (l == nil || len(l.lists[k]) == 0 || &l.lists[k][0] != &items[0]) {
			return c.reportBytes
		}
	}
	return c.report.Facts.Size()
}

// countLists charges the lists and facts of a server to the tenant. A server that is no longer
// configured counts nothing.
func (c *Catalog) countLists(s *server) {
	n := 0
	if c.servers[s.config.Name] == s {
		for _, l := range s.lists {
			n += l.facts.Size() + sizeOf(&l.lists)
		}
		for key, conn := range s.conns {
			n += conn.extraBytes(s.lists[anyRevision(key)])
		}
	}
	c.listBytes += n - s.counted
	s.counted = n
	c.o.Account.Set(quota.Lists, c.listBytes)
}

// due reports whether a look at the lists should ask the server again. A program is expensive to
// start, so its stored lists are believed until a caller needs the program. Other servers cost next
// to nothing.
func (l *listing) due(s tenant.Server) bool {
	return !l.known || l.stale || l.stored && s.Link() != tenant.Stdio
}

// resourcesUnknown reports whether it is unknown which resources the server has: it has not
// answered yet, or could not list them.
func (l *listing) resourcesUnknown() bool {
	return l.short[merge.Resources].State.Provisional() ||
		l.short[merge.Templates].State.Provisional()
}

// listing finds or makes the listing of a server for a kind of connection.
func (c *Catalog) listing(s *server, key tenant.Key) *listing {
	if l := s.lists[key]; l != nil {
		return l
	}
	if len(s.lists) >= MaxListings {
		eldest := s.oldestListing(key.Principal)
		c.unsave(s, eldest)
		c.views.unprepare(s.lists[eldest])
		delete(s.lists, eldest)
		c.countLists(s)
	}
	l := &listing{since: c.p.Now()}
	s.lists[key] = l
	c.p.After(c.tenant.Limits.ListWait, overdue{}) // no caller waits for it after that
	return l
}

// oldestListing is the listing to drop for another one of a principal: the oldest of that
// principal, or of all if it has none.
func (s *server) oldestListing(principal string) (found tenant.Key) {
	var first *listing
	for k, l := range sortedmap.SortedBy(s.lists, tenant.Key.Compare) {
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
