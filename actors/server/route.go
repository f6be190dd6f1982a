package server

import (
	"slices"

	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol/jsonedit"
)

// address sends a request to the server that owns the name in its params. If the session's view
// does not know the name, it is looked up in a fresh view, which waits for servers that are
// starting.
func (s *Session) address(d *session.Deliver) {
	if d.Message.Method == "resources/unsubscribe" && s.unsubscribeAtOrigin(d) {
		return
	}
	if s.view != nil && s.route(d, false) {
		return
	}
	s.look(
		d,
		s.options.Tenant().Limits.ListWait,
		looksIn(d.Message.Method),
		func(d *session.Deliver) { s.route(d, true) },
	)
}

// unsubscribeAtOrigin sends resources/unsubscribe to the server at which the client subscribed,
// even if the URI belongs to another server by now. It returns false if there is no such
// subscription.
func (s *Session) unsubscribeAtOrigin(d *session.Deliver) bool {
	uri, _ := jsonedit.GetString(d.Message.Params, "uri")
	at := slices.IndexFunc(s.record.URIs, func(u session.Subscription) bool { return u.URI == uri })
	if at < 0 {
		return false
	}
	made := s.record.URIs[at]
	if slices.ContainsFunc(s.record.URIs, func(u session.Subscription) bool {
		return u != made && u.Server == made.Server && u.Own == made.Own && u.URI != uri
	}) { // the client is still subscribed under another name
		s.unsubscribed(func(u session.Subscription) bool { return u == made })
		s.answer(d, nil)
		return true
	}
	params, err := jsonedit.Set(d.Message.Params, jsonedit.Quote(made.Own), "uri")
	if err != nil {
		return false
	}
	s.toServer(&outgoing{
		d: d, server: made.Server, params: params,
		names: names{addresses: new(merge.Router), asked: uri, own: made.Own},
	})
	return true
}

// route sends the request. It returns false if the view does not know the name, unless last is set:
// then the request is refused for good.
func (s *Session) route(d *session.Deliver, last bool) bool {
	method, addresses := d.Message.Method, s.view.Router
	target, err := addresses.Route(method, d.Message.Params, s.uriOwner())
	if err != nil {
		if gone := s.removed(d.Message); last && gone != nil {
			err = gone
		}
		if last {
			s.refuse(d, err)
		}
		return last
	}
	if method == "resources/unsubscribe" {
		own, _ := jsonedit.GetString(target.Params, "uri")
		// under other names only, since unsubscribeAtOrigin found nothing
		if s.subscribedTo(target.Server, own) {
			s.answer(d, nil)
			return true
		}
	}
	n := names{addresses: addresses, references: s.view.References}
	if method == "resources/read" {
		n.asked = target.Asked
		n.own, _ = jsonedit.GetString(target.Params, "uri")
	}
	s.toServer(&outgoing{
		d: d, server: target.Server, name: target.Name, params: target.Params, names: n,
	})
	return true
}

// subscribedTo reports whether the client is subscribed to a resource of a server, under any name.
func (s *Session) subscribedTo(server, own string) bool {
	return slices.ContainsFunc(s.record.URIs, func(u session.Subscription) bool {
		return u.Server == server && u.Own == own
	})
}

// uriOwner returns a function that finds the server that gave this principal a URI.
func (s *Session) uriOwner() func(uri string, order []string) (string, bool) {
	references, principal := s.view.References, s.handle.Endpoint().Principal
	return func(uri string, order []string) (string, bool) {
		return references.ServerOf(principal, uri, order)
	}
}
