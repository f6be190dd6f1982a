package server

import (
	"mcpd/actors/catalog"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/rewrite"
	"mcpd/supervisor/otp"
)

// list answers one page of a list on the aggregate endpoint.
func (s *Session) list(d *session.Deliver, kind merge.Kind) {
	if needs := s.lacks("", d.Message.Method); needs != "" {
		s.refuse(d, protocol.CapabilityRequired(needs))
		return
	}
	cursor := ""
	if raw, ok := jsonedit.Get(d.Message.Params, "cursor"); ok && raw.Kind() != 'n' {
		if cursor, ok = jsonedit.Unquote(raw); !ok || cursor == "" {
			s.refuse(d, protocol.StateInvalid("cursor"))
			return
		}
	}
	s.look(d, s.options.Tenant().Limits.ListWait, []merge.Kind{kind}, func(d *session.Deliver) {
		page, err := s.view.Listed(kind, s.record.Version, s.handle.Endpoint().Principal, cursor)
		if err == nil {
			page, err = rewrite.Result(d.Message.Method, protocol.LatestLegacy, s.record.Version, page,
				rewrite.Options{Server: s.options.Self})
		}
		if err != nil {
			s.refuse(d, err)
			return
		}
		s.answer(d, page)
	})
}

// listAlone answers a list on a transparent endpoint. While the server cannot be asked, the answer
// is its last known list, as on the aggregate endpoint, and later changes are announced. A cursor
// is the server's own, so a request with a cursor goes to the server.
func (s *Session) listAlone(d *session.Deliver, kind merge.Kind) {
	server := s.handle.Endpoint().Server
	if raw, ok := jsonedit.Get(d.Message.Params, "cursor"); ok && raw.Kind() != 'n' ||
		s.lacks(server, d.Message.Method) != "" {
		s.forward(d)
		return
	}
	s.waiting.add(d)
	otp.CallAsync(s.p, s.options.Catalog, catalog.LookRequest{Caller: s.caller(), Refresh: true},
		func(v *catalog.View, err error) any { return recalled{d, kind, v, err} })
}

// listViewed forwards the request if the server can be asked, or nothing is known of it. Otherwise
// it answers from the view.
func (s *Session) listViewed(m recalled) {
	if !s.waiting.has(m.d) { // cancelled meanwhile
		return
	}
	// Many clients ask for every list, whatever is declared. That must not start the server.
	if m.err == nil && m.view.ListUnknown(m.kind) {
		s.refuse(m.d, protocol.CapabilityNotSupported(m.kind.Capability()))
		return
	}
	if m.err != nil || m.view.MustAsk(m.kind) {
		s.forward(m.d)
		return
	}
	page, err := m.view.Page(m.kind, s.record.Version)
	if err != nil {
		s.refuse(m.d, err)
		return
	}
	s.answer(m.d, page)
}
