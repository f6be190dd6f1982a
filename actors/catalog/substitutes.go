package catalog

import (
	"maps"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

// The number of programs is bounded: callers that share a server have at most max_instances
// processes of it, whatever their clients declare and whichever era they speak. At the bound, a
// caller uses the existing connection that fits best. If the server asks something there that this
// caller's client has not declared, the question is refused.

// group returns the keys of the connections, existing or being opened, of the callers that share
// the server with key.
func (s *server) group(key tenant.Key) map[tenant.Key]bool {
	all := map[tenant.Key]bool{}
	for other := range s.conns {
		all[other] = true
	}
	for other := range s.awaitingStart {
		all[other] = true
	}
	maps.DeleteFunc(all, func(other tenant.Key, _ bool) bool { return other.Group() != key.Group() })
	return all
}

// full reports whether the callers that share the server with key may have no more processes of it.
func (s *server) full(key tenant.Key) bool {
	return s.config.Link() == tenant.Stdio && s.config.Instances > 0 &&
		key.Share != tenant.BySession && len(s.group(key)) >= s.config.Instances
}

// fit returns the key of the connection that a caller uses: its own, or the existing one that fits
// best while the bound allows no more.
func (c *Catalog) fit(s *server, key tenant.Key) tenant.Key {
	if s.conns[key] != nil || len(s.awaitingStart[key]) > 0 || !s.full(key) {
		return key
	}
	best, least := key, -1
	for other := range sortedmap.SortedBy(s.group(key), tenant.Key.Compare) {
		if other.Instance > 0 { // it takes calls from the first instance only
			continue
		}
		if misfit := misfit(other, key); least < 0 || misfit < least {
			best, least = other, misfit
		}
	}
	if best != key {
		s.substitutes[key] = best
		c.views.clear()
	}
	return best
}

// misfit is how badly a connection fits a caller with another key. It adds 4 for each capability
// that the server may use but the caller lacks, 2 for each that the caller has but the server does
// not know of, and 1 for a different era.
func misfit(connection, caller tenant.Key) int {
	n := 4*(connection.Fingerprint&^caller.Fingerprint).Size() +
		2*(caller.Fingerprint&^connection.Fingerprint).Size()
	if connection.Modern != caller.Modern {
		n++
	}
	return n
}

// dropSubstitutes handles the end of a connection. Callers that used another connection of its
// group may now get their own.
func (c *Catalog) dropSubstitutes(s *server, key tenant.Key) {
	before := len(s.substitutes)
	maps.DeleteFunc(s.substitutes, func(wanted, _ tenant.Key) bool {
		return wanted.Group() == key.Group()
	})
	if len(s.substitutes) < before {
		c.views.clear()
	}
}

// registerSubstitute registers a caller for notifications over a connection that is not its own. A
// session registers for its own connections itself.
func (c *Catalog) registerSubstitute(s *server, key tenant.Key, caller Caller) {
	key = anyRevision(key)
	if len(s.substitutes) == 0 || caller.Ref == (otp.Ref{}) || key == Key(s.config, caller) ||
		key == ListKey(s.config, caller) {
		return
	}
	c.register(s, key, caller.Ref)
}

// register registers a session for notifications of a server over a connection, and for changes of
// the aggregate's lists over it. The session ignores those that do not concern it: see
// Session.notice.
func (c *Catalog) register(s *server, key tenant.Key, session otp.Ref) {
	for _, server := range []string{s.config.Name, ""} {
		_ = c.p.Send(c.o.Dispatcher, &notification.Register{
			Method: notification.Any, Server: server, Key: anyRevision(key),
			Handler: notification.Mailbox{Ref: session},
		})
	}
}

// moveSessions hands the sessions of an ended connection, and their subscriptions, to another
// connection.
func (c *Catalog) moveSessions(s *server, key tenant.Key, to *conn,
	abandoned *client.AbandonedState) {
	for _, ref := range sortedmap.Sorted(abandoned.Sessions) {
		c.register(s, key, ref)
	}
	_ = c.p.Send(to.ref, abandoned)
}
