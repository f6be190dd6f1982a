package server

import (
	"fmt"
	"slices"

	"mcpd/actors/notification"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
)

// notice delivers a notification of a server, if this client asked for it and its revision knows
// it.
func (s *Session) notice(n *notification.Notice) {
	if n.Principal != "" && n.Principal != s.handle.Endpoint().Principal ||
		n.Session != "" && n.Session != s.handle.Row() {
		return
	}
	if n.Method == notification.Quarantined {
		s.quarantined(n)
		return
	}
	if s.record == nil || !s.sees(n) || !s.mayReceive(n) {
		return
	}
	if s.modern() {
		s.announce(n)
		return
	}
	// only modern sessions subscribe to notifications of extensions
	if _, ok := subscription.FilterFromName(n.URI); ok {
		return
	}
	switch n.Method {
	case "notifications/message":
		if level, _ := jsonedit.GetString(n.Params, "level"); s.record.Level != "" &&
			!protocol.AtLeast(level, s.record.Level) {
			return
		}
	case "notifications/resources/updated":
		for _, params := range s.renamed(s.record.URIs, n) {
			_ = s.push(jsonrpc.Notification(n.Method, params))
		}
		return
	}
	_ = s.push(jsonrpc.Notification(n.Method, n.Params))
}

// sees reports whether this session sees the subject of a notification. A list change of one server
// goes to transparent sessions of that server. A session on the aggregate endpoint gets the change
// of the aggregate's list, which names no server.
func (s *Session) sees(n *notification.Notice) bool {
	switch {
	case len(n.Sources) > 0 && !slices.ContainsFunc(n.Sources, s.shows):
		return false
	case !s.singleServer():
		return n.Server == "" || !subscription.ListChanged(n.Method)
	}
	return n.Server == s.handle.Endpoint().Server
}

// shows reports whether lists from a source may be shown to this session. Once it has its own
// connection to a server, it is shown only the lists over that connection. Otherwise it would get
// the same change twice.
func (s *Session) shows(source notification.Source) bool {
	if p := source.Key.Principal; p != "" && p != s.handle.Endpoint().Principal {
		return false
	}
	own := source.Server != "" && !s.handle.IsPeer() && s.targets[source.Server].Alive()
	return !own
}

// subscribing stores a subscription of the client when it is requested, because the server may
// announce a change right after its answer. The argument exchange is the id of the request's
// exchange.
func (s *Session) subscribing(o *outgoing, exchange uint64) error {
	method := o.d.Message.Method
	if s.modern() {
		return nil // a modern client subscribes by subscriptions/listen only
	}
	if method != "resources/subscribe" && method != "resources/unsubscribe" {
		return nil
	}
	want := session.Subscription{Server: o.server, Asking: exchange}
	want.URI, _ = jsonedit.GetString(o.d.Message.Params, "uri")
	if want.Own, _ = jsonedit.GetString(o.params, "uri"); want.Own == want.URI {
		want.Own = want.URI // shares the memory of one string
	}
	same := func(u session.Subscription) bool {
		return u.Server == want.Server && u.URI == want.URI && u.Own == want.Own
	}
	switch {
	case method == "resources/unsubscribe":
		s.unsubscribed(same)
	case slices.ContainsFunc(s.record.URIs, same):
	case len(s.record.URIs) >= protocol.MaxSubscribedURIs:
		return fullOf(fmt.Sprintf("%d resources", len(s.record.URIs)))
	case bytesOf(s.record.URIs)+bytesOf([]session.Subscription{want}) > protocol.MaxSubscribedBytes:
		return fullOf(fmt.Sprintf("resources with URIs of %d bytes, of %d", bytesOf(s.record.URIs),
			protocol.MaxSubscribedBytes))
	default:
		s.store(func(r *session.Record) { r.URIs = append(slices.Clone(r.URIs), want) })
	}
	return nil
}

// fullOf is the error for one subscription too many.
func fullOf(label string) error {
	return protocol.InvalidParams("this session is subscribed to " + label +
		", and that is the limit: unsubscribe from one first, or use another session")
}

// bytesOf is the total length in bytes of the URIs of subscriptions.
func bytesOf(all []session.Subscription) (n int) {
	for _, u := range all {
		n += len(u.URI) + len(u.Own)
	}
	return n
}

// unsubscribed forgets the subscriptions that match.
func (s *Session) unsubscribed(which func(session.Subscription) bool) {
	if slices.ContainsFunc(s.record.URIs, which) {
		s.store(func(r *session.Record) { r.URIs = slices.DeleteFunc(slices.Clone(r.URIs), which) })
	}
}

// markSubscribed marks the subscriptions of matching exchanges as accepted by the server.
func (s *Session) markSubscribed(match func(exchange uint64) bool) {
	s.store(func(r *session.Record) {
		r.URIs = slices.Clone(r.URIs)
		for i, u := range r.URIs {
			if match(u.Asking) {
				r.URIs[i].Asking = 0
			}
		}
	})
}
