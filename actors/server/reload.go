package server

import (
	"slices"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/protocol/jsonedit"
)

// reconfigured applies a new configuration of the tenant's servers. New calls go to new connections
// from here on, because the catalogue no longer hands out the old ones. If servers were added,
// removed or reordered, the client is told once that the lists have changed. If the declaration of
// a server changed, a change of its lists is announced when it is known, like any other.
func (s *Session) reconfigured() {
	before := s.tenant
	s.tenant = s.options.Tenant()
	for server, ref := range sortedmap.Sorted(s.targets) {
		config, still := s.tenant.Server(server)
		if was, _ := before.Server(server); still && !was.NeedsReconnect(config) {
			continue
		}
		delete(s.targets, server)
		s.oldConnections = append(s.oldConnections, ref)
		delete(s.levels, server) // the new connection does not know the level
		if still {
			s.resendIntent(server)
		}
	}
	s.updateListen()
	s.detachOld()
	s.serversRemoved(before)
	if s.record == nil || !s.record.Ready {
		return
	}
	if !s.modern() || len(s.listens) > 0 {
		s.listen()
		s.releaseInDispatcher()
		s.armIdleRelease()
	}
	if !s.singleServer() && !sameServers(before, s.tenant) {
		for _, list := range []string{"tools", "prompts", "resources"} {
			s.notice(&notification.Notice{Method: "notifications/" + list + "/list_changed"})
		}
	}
}

// forgotten tells a connection again of this session and its subscriptions, because the connection
// has lost them.
func (s *Session) forgotten(m client.UsersForgotten) {
	if s.targets[m.Server] != m.From {
		return
	}
	delete(s.levels, m.Server)
	s.reconnect(m.Server)
	s.listenAgain(m.Server)
}

// resendIntent tells a server's new connection what the client wants besides its calls, if
// anything.
func (s *Session) resendIntent(server string) {
	if intent := s.subscriptionIntent(server); intent.Level != "" || len(intent.URIs) > 0 {
		s.reconnect(server)
	}
	s.listenAgain(server)
}

// listenAgain asks a server again for the resources to which modern clients are subscribed.
func (s *Session) listenAgain(server string) {
	for l := range s.listening() {
		for _, u := range l.uris {
			if u.Server == server {
				params, _ := jsonedit.Set(nil, jsonedit.Quote(u.Own), "uri") // an empty value becomes an object
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

// detachOld detaches this session from its old connections, each once it carries no call of the
// session.
func (s *Session) detachOld() {
	still := s.oldConnections[:0]
	for _, ref := range s.oldConnections {
		if s.handle.Calls().Through(ref) {
			still = append(still, ref)
			continue
		}
		_ = s.p.Send(ref, client.Detach{Ref: s.p.Self()})
	}
	clear(s.oldConnections[len(still):])
	s.oldConnections = still
}
