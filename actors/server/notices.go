package server

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/notification"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// notice delivers what a server announced, when this client asked for it and its revision knows it.
func (s *Session) notice(n *notification.Notice) {
	if s.record == nil || s.gate().Check(protocol.Server, n.Method, n.Params) != nil {
		return
	}
	params := n.Params
	switch n.Method {
	case "notifications/message":
		if s.record.HasLevel && protocol.LogLevelOf(params) < s.record.Level {
			return
		}
	case "notifications/resources/updated":
		uri, _ := splice.GetString(params, "uri")
		if !s.transparent() {
			uri = merge.DownURI(n.Server, uri, s.wants)
			params, _ = splice.Set(params, splice.Quote(uri), "uri")
		}
		if !s.wants(uri) {
			return
		}
	}
	_ = s.h.Push(jsonrpc.Notification(n.Method, params))
}

// wants reports whether the client has subscribed to the resource, as it names it.
func (s *Session) wants(uri string) bool { return slices.Contains(s.record.URIs, uri) }

// MaxURIs bounds the resources one session may subscribe to.
const MaxURIs = protocol.MaxSubscribedURIs

// subscribed keeps which resources the client wants to hear of, as the client names them.
func (s *Session) subscribed(method, uri string) {
	switch {
	case method == "resources/subscribe" && !s.wants(uri) && len(s.record.URIs) < MaxURIs:
		s.store(func(r *session.Record) { r.URIs = append(slices.Clone(r.URIs), uri) })
	case method == "resources/unsubscribe":
		s.store(func(r *session.Record) {
			r.URIs = slices.DeleteFunc(slices.Clone(r.URIs), func(u string) bool { return u == uri })
		})
	}
}

// setLevel keeps the client's log level and asks every server it uses for it.
func (s *Session) setLevel(d *session.Deliver) {
	level, ok := protocol.ParseLogLevel(d.Message.Params)
	if !ok {
		s.refuse(d, protocol.InvalidParams("params.level is none of the eight log levels"))
		return
	}
	s.store(func(r *session.Record) { r.Level, r.HasLevel = level, true })
	d.Out.Finish(jsonrpc.Response(d.Message.ID, nil))
}

var _ = jsontext.Value(nil)
