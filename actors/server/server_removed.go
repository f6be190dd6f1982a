package server

import (
	"slices"

	"mcpd/actors/notification"
	"mcpd/actors/session"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
)

// A server that is quarantined or removed sends no more notifications. Clients that listen to it
// are told so once. A modern client is told by the end of its subscription. Subscriptions of a
// legacy client have no end, so it gets an update of each resource: a client that then reads the
// resource is told the reason.

// serverGone tells the client that a server is no longer used.
func (s *Session) serverGone(server string, refusal *protocol.Error) {
	switch {
	case s.record == nil:
	case s.modern():
		for l := range s.listening() {
			if l.d.Acknowledged() {
				s.listenGone(l, server, refusal)
			}
		}
	default:
		for _, uri := range urisAt(s.record.URIs, server) {
			_ = s.push(jsonrpc.Notification(resourceUpdated, uriOf(uri)))
		}
	}
}

const resourceUpdated = "notifications/resources/updated"

// urisAt lists the resources of a server to which a client is subscribed, by the client's names.
func urisAt(all []session.Subscription, server string) (uris []string) {
	for _, u := range all {
		_, named := subscription.FilterFromName(u.URI)
		if u.Server == server && u.Asking == 0 && !named && !slices.Contains(uris, u.URI) {
			uris = append(uris, u.URI)
		}
	}
	return uris
}

// uriOf makes params that name a resource.
func uriOf(uri string) []byte {
	params, _ := jsonedit.Set(nil, jsonedit.Quote(uri), "uri") // an empty value becomes an object
	return params
}

// listenGone handles a subscription to a server that is gone. If the subscription covers nothing
// else, it ends. Otherwise it goes on, and its client is told that the server's resources have
// changed.
func (s *Session) listenGone(l *listen, server string, refusal *protocol.Error) {
	if s.onlyAbout(l, server) {
		s.endListen(l, refusal)
		return
	}
	for _, uri := range urisAt(l.uris, server) {
		told := jsonrpc.Notification(resourceUpdated, subscription.Tag(uriOf(uri), l.d.Message.ID))
		if l.d.Out.Send(told) != nil {
			s.unlisten(l)
			return
		}
	}
}

// onlyAbout reports whether a subscription covers only one server.
func (s *Session) onlyAbout(l *listen, server string) bool {
	if s.singleServer() {
		return server == s.handle.Endpoint().Server
	}
	g := l.granted
	return len(l.uris) > 0 && !g.Tools && !g.Prompts && !g.Resources && len(g.Tasks) == 0 &&
		!slices.ContainsFunc(l.uris, func(u session.Subscription) bool { return u.Server != server })
}

// endListen ends a subscription with its result. The result has the reason, if why is not nil.
func (s *Session) endListen(l *listen, refusal *protocol.Error) {
	delete(s.listens, l.d.Out)
	s.handle.SetListens(len(s.listens))
	s.waiting.remove(l.d)
	result := subscription.Ended(l.d.Message.ID, s.options.Self)
	if refusal != nil {
		result = subscription.EndedFor(refusal, l.d.Message.ID, s.options.Self)
	}
	l.d.Out.Finish(jsonrpc.Response(l.d.Message.ID, result))
}

// quarantined handles the notice that a server is quarantined.
func (s *Session) quarantined(n *notification.Notice) {
	if refusal := n.Why; refusal != nil {
		s.serverGone(n.Server, refusal)
	}
}

// serversRemoved ends the client's subscriptions to servers that a reload has removed.
func (s *Session) serversRemoved(before *tenant.Tenant) {
	for i := range before.Servers {
		name := before.Servers[i].Name
		if _, still := s.tenant.Server(name); still {
			continue
		}
		s.serverGone(name, protocol.UpstreamRemoved(name, false, nil))
		its := func(u session.Subscription) bool { return u.Server == name }
		if s.record != nil {
			s.unsubscribed(its)
		}
		for l := range s.listening() {
			l.uris = slices.DeleteFunc(l.uris, its)
		}
	}
}

// removed is the error for a request to a server that a reload has removed; nil for any other
// request.
func (s *Session) removed(m jsonrpc.Message) *protocol.Error {
	server := s.named(m)
	if _, configured := s.tenant.Server(server); configured || !s.tenant.WasRemoved(server) {
		return nil
	}
	return protocol.UpstreamRemoved(server, false, nil)
}

// unconfigured is the reason to end all subscriptions at this endpoint: its server was removed. It
// is nil otherwise.
func (s *Session) unconfigured() *protocol.Error {
	server := s.handle.Endpoint().Server
	if now := s.options.Tenant(); server != "" && now.WasRemoved(server) {
		return protocol.UpstreamRemoved(server, false, nil)
	}
	return nil
}
