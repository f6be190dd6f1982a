package server

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// notice delivers what a server announced, when this client asked for it and its revision knows it.
func (s *Session) notice(n *notification.Notice) {
	if s.record == nil || !s.concerns(n) || s.gate().Check(protocol.Server, n.Method, n.Params) != nil {
		return
	}
	params := n.Params
	switch n.Method {
	case "notifications/message":
		if level, _ := splice.GetString(params, "level"); s.record.Level != "" && !protocol.AtLeast(level, s.record.Level) {
			return
		}
	case "notifications/resources/updated":
		if params = s.updated(n); params == nil {
			return
		}
	}
	_ = s.h.Push(jsonrpc.Notification(n.Method, params))
}

// concerns reports whether a notice came over a connection of this session's: the one its calls go through, or the one its lists come
// from. What a server says over another principal's connection is that principal's.
func (s *Session) concerns(n *notification.Notice) bool {
	config, ok := s.o.Tenant.Server(n.Server)
	if !ok {
		return false
	}
	caller := s.caller()
	return n.Key == catalog.Key(config, caller) || n.Key == catalog.ListKey(config, caller)
}

// updated is the notification for a resource under the name by which this client subscribed to it; nil when it did not.
func (s *Session) updated(n *notification.Notice) jsontext.Value {
	for _, want := range s.record.URIs {
		if want.Server != n.Server || !covers(want.Own, n.URI) {
			continue
		}
		if want.Own != n.URI || want.URI == want.Own {
			return n.Params
		}
		params, err := splice.Set(n.Params, splice.Quote(want.URI), "uri")
		if err != nil {
			return nil
		}
		return params
	}
	return nil
}

// covers reports whether a subscription to a resource takes an update of another: the same, or one below it (2025-11-25
// §server/resources, ResourceUpdatedNotification).
func covers(subscribed, updated string) bool {
	return updated == subscribed || strings.HasPrefix(updated, strings.TrimSuffix(subscribed, "/")+"/")
}

// subscribed keeps which resources the client wants to hear of.
func (s *Session) subscribed(o *outgoing) {
	method := o.d.Message.Method
	if method != "resources/subscribe" && method != "resources/unsubscribe" {
		return
	}
	var want session.Subscription
	want.Server = o.server
	want.URI, _ = splice.GetString(o.d.Message.Params, "uri")
	want.Own, _ = splice.GetString(o.params, "uri")
	has := slices.Contains(s.record.URIs, want)
	switch {
	case method == "resources/unsubscribe" && has:
		s.store(func(r *session.Record) {
			r.URIs = slices.DeleteFunc(slices.Clone(r.URIs), func(u session.Subscription) bool { return u == want })
		})
	case method == "resources/subscribe" && !has && len(s.record.URIs) < protocol.MaxSubscribedURIs:
		s.store(func(r *session.Record) { r.URIs = append(slices.Clone(r.URIs), want) })
	}
}

// setLevel keeps the client's log level and tells every server it uses.
func (s *Session) setLevel(d *session.Deliver) {
	level, _ := splice.GetString(d.Message.Params, "level")
	if !protocol.ValidLogLevel(level) {
		s.refuse(d, protocol.InvalidParams("params.level is none of the eight log levels"))
		return
	}
	s.store(func(r *session.Record) { r.Level = level })
	for _, target := range s.targets {
		_ = target.Send(&client.Want{Session: s.h.Row(), Level: level})
	}
	s.answer(d, nil)
}
