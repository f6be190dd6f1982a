package server

import (
	"slices"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/protocol/splice"
)

// reconfigured applies a new configuration of the tenant's servers. New calls go to new connections
// from here on, because the catalogue no longer hands out the old ones. If servers were added,
// removed or reordered, the client is told once that the lists have changed. If the declaration of
// a server changed, a change of its lists is announced when it is known, like any other.
func (s *Session) reconfigured() {
	before := s.tenant
	s.tenant = s.o.Tenant()
	for server, ref := range order.Of(s.targets) {
		config, still := s.tenant.Server(server)
		if was, _ := before.Server(server); still && !was.Reconnects(config) {
			continue
		}
		delete(s.targets, server)
		s.leaving = append(s.leaving, ref)
		delete(s.levels, server) // the new connection does not know the level
		if still {
			s.wishAgain(server)
		}
	}
	s.heed()
	s.leave()
	s.serversRemoved(before)
	if s.record == nil || !s.record.Ready {
		return
	}
	if !s.modern() || len(s.listens) > 0 {
		s.listen()
		s.stayAway()
		s.listenToSilence()
	}
	if !s.transparent() && !sameServers(before, s.tenant) {
		for _, list := range []string{"tools", "prompts", "resources"} {
			s.notice(&notification.Notice{Method: "notifications/" + list + "/list_changed"})
		}
	}
}

// forgotten tells a connection again of this session and its subscriptions, because the connection
// has lost them.
func (s *Session) forgotten(m client.Forgotten) {
	if s.targets[m.Server] != m.From {
		return
	}
	delete(s.levels, m.Server)
	s.reconnect(m.Server)
	s.listenAgain(m.Server)
}

// wishAgain tells a server's new connection what the client wants besides its calls, if anything.
func (s *Session) wishAgain(server string) {
	if wish := s.wish(server); wish.Level != "" || len(wish.URIs) > 0 {
		s.reconnect(server)
	}
	s.listenAgain(server)
}

// listenAgain asks a server again for the resources to which modern clients are subscribed.
func (s *Session) listenAgain(server string) {
	for l := range s.listening() {
		for _, u := range l.uris {
			if u.Server == server {
				params, _ := splice.Set(nil, splice.Quote(u.Own), "uri") // an empty value becomes an object
				s.inquire(server, "resources/subscribe", params, nil)
			}
		}
	}
}

// sameServers reports whether two configurations have the same servers in the same order. The order
// decides which server owns a URI on the aggregate endpoint.
func sameServers(a, b *tenant.Tenant) bool {
	return slices.EqualFunc(a.Servers, b.Servers, func(a, b tenant.Server) bool {
		return a.Name == b.Name
	})
}

// leave detaches this session from its old connections, each once it carries no call of the
// session.
func (s *Session) leave() {
	still := s.leaving[:0]
	for _, ref := range s.leaving {
		if s.h.Calls().Through(ref) {
			still = append(still, ref)
			continue
		}
		_ = s.p.Send(ref, client.Detach{Ref: s.p.Self()})
	}
	clear(s.leaving[len(still):])
	s.leaving = still
}
