package catalog

import (
	"maps"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
)

// Programs are bounded: those who share a server have max_instances processes of it at most,
// whatever their clients declare and whichever era they speak. A caller for whom there may be no
// other process uses the connection that suits best. What the server asks there beyond what the
// caller declared is refused.

// group are the connections that exist or are being opened for those who share the server with key.
func (s *server) group(key tenant.Key) map[tenant.Key]bool {
	all := map[tenant.Key]bool{}
	for other := range s.conns {
		all[other] = true
	}
	for other := range s.opening {
		all[other] = true
	}
	maps.DeleteFunc(all, func(other tenant.Key, _ bool) bool { return other.Group() != key.Group() })
	return all
}

// full reports whether those who share the server with key may have no more processes of it.
func (s *server) full(key tenant.Key) bool {
	return s.config.Link() == tenant.Stdio && s.config.Instances > 0 &&
		key.Share != tenant.BySession && len(s.group(key)) >= s.config.Instances
}

// fit returns the key of the connection that a caller uses: its own, or that of another as long as
// there may be no more.
func (c *Catalog) fit(s *server, key tenant.Key) tenant.Key {
	if s.conns[key] != nil || len(s.opening[key]) > 0 || !s.full(key) {
		return key
	}
	best, least := key, -1
	for other := range order.By(s.group(key), tenant.Key.Compare) {
		if other.Instance > 0 { // which takes calls of the first only
			continue
		}
		if misfit := misfit(other, key); least < 0 || misfit < least {
			best, least = other, misfit
		}
	}
	if best != key {
		s.instead[key] = best
		c.views.clear()
	}
	return best
}

// misfit is how badly a connection suits a caller with another key: the server may ask what the
// caller cannot be asked, or does not know that it may ask, or the era is another.
func misfit(connection, caller tenant.Key) int {
	n := 4*(connection.Fingerprint&^caller.Fingerprint).Size() + 2*(caller.Fingerprint&^connection.Fingerprint).Size()
	if connection.Modern != caller.Modern {
		n++
	}
	return n
}

// makeRoom hears that a connection is no more: callers who used another in its group may have their
// own from now on.
func (c *Catalog) makeRoom(s *server, key tenant.Key) {
	before := len(s.instead)
	maps.DeleteFunc(s.instead, func(wanted, _ tenant.Key) bool { return wanted.Group() == key.Group() })
	if len(s.instead) < before {
		c.views.clear()
	}
}

// hears has a caller hear what is announced over a connection that is not its own. It has asked to
// hear of its own itself.
func (c *Catalog) hears(s *server, key tenant.Key, caller Caller) {
	key = anyRevision(key)
	if len(s.instead) == 0 || caller.Ref == (otp.Ref{}) || key == Key(s.config, caller) ||
		key == ListKey(s.config, caller) {
		return
	}
	c.register(s, key, caller.Ref)
}

// register has a session hear what a server says over a connection, and of changes of the lists of
// all servers that are announced over it. Each session takes those that it sees: see
// Session.notice.
func (c *Catalog) register(s *server, key tenant.Key, session otp.Ref) {
	for _, server := range []string{s.config.Name, ""} {
		_ = c.p.Send(c.o.Dispatcher, &notification.Register{
			Method: notification.Any, Server: server, Key: anyRevision(key),
			Handler: notification.Mailbox{Ref: session},
		})
	}
}

// moved hands the sessions that had used a connection, and what they want, to another one.
func (c *Catalog) moved(s *server, key tenant.Key, to *conn, left *client.Left) {
	for _, ref := range order.Of(left.Sessions) {
		c.register(s, key, ref)
	}
	_ = c.p.Send(to.ref, left)
}
