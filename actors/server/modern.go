package server

import (
	"mcpd/actors/held"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// standalone admits one request of a modern client (2026-07-28 §basic). The request may be its
// client's first. So if the known offer does not allow the method, the session takes a fresh view
// before it refuses.
func (s *Session) standalone(d *session.Deliver) {
	err := s.gateCache.check(s.record, d.Message, s.declared)
	switch {
	case err == nil:
		s.dispatch(d)
	case protocol.ConditionOf(err) == protocol.ConditionCapabilityNotSupported,
		s.mayExtend(d.Message.Method):
		s.look(d, s.firstWait(), nil, func(d *session.Deliver) {
			if err := s.gate().Check(protocol.Client, d.Message.Method, d.Message.Params); err != nil {
				s.refuse(d, err)
				return
			}
			s.dispatch(d)
		})
	default:
		s.refuse(d, err)
	}
}

// declared is the gate of a modern client's request, without Gate.PassUndeclared. A method that no
// server has declared is thereby refused first, which makes standalone take a fresh view before it
// asks a server.
func (s *Session) declared() protocol.Gate {
	g := s.gate()
	g.PassUndeclared = false
	return g
}

// mayExtend reports whether a method may belong to an extension of the one server that this session
// has not seen yet.
func (s *Session) mayExtend(method string) bool {
	return s.singleServer() && !protocol.IsKnownMethod(method) && s.record.Capabilities.HasExtensions()
}

// discover answers server/discover (2026-07-28 §server/discover): the revisions that this endpoint
// serves, the newest first, and what its servers offer together.
func (s *Session) discover(d *session.Deliver) {
	s.look(d, s.firstWait(), nil, func(d *session.Deliver) {
		if s.singleServer() && len(s.view.Servers) == 0 {
			s.refuse(d, protocol.UpstreamLost(s.handle.Endpoint().Server, false, nil))
			return
		}
		r := protocol.DiscoverResult{
			Versions: s.options.Tenant().Negotiation.Names(), Capabilities: s.view.Offer(s.record.Version),
		}
		r.Info, r.Instructions = s.introduce()
		s.answer(d, r.Result())
	})
}

// fresh takes a fresh view and then sends the request. It is called if the session has no view, or
// if the schema in it contradicts the header fields: the client may know a newer schema.
func (s *Session) fresh(o *outgoing) {
	anew := o.onHeap()
	anew.freshView = true
	s.look(o.d, s.firstWait(), nil, func(*session.Deliver) { s.toServer(anew) })
}

// repeats reports whether a request came with header fields, which may repeat arguments.
func repeats(d *session.Deliver) bool { return d.Fields != nil && d.Message.Method == "tools/call" }

// mirrored checks the header fields that repeat arguments of a tool, by the schema that clients see
// (2026-07-28 §basic/transports/streamable-http). If the session does not know the tool, the check
// is left to the server.
func (s *Session) mirrored(d *session.Deliver) error {
	if !repeats(d) {
		return nil
	}
	name, _ := jsonedit.GetString(d.Message.Params, "name")
	mirrors := s.view.Mirrors(name)
	if len(mirrors) == 0 {
		return nil
	}
	return headers.Request{Method: d.Message.Method, Params: d.Message.Params,
		Mirrored: mirrors}.Check(d.Fields)
}

// abandoned cancels the request whose client has gone.
func (s *Session) abandoned(out transport.Sink) {
	if l := s.listens[out]; l != nil {
		s.unlisten(l)
		out.Finish(jsonrpc.Message{})
		return
	}
	if id, ok := s.handle.Calls().Of(out); ok {
		if call, ok := s.options.HeldCall(held.Row(id)); ok {
			_ = s.p.Send(call, &held.Gone{Out: out})
			return
		}
		s.p.Check()
		if s.handle.Calls().Cancel(id) {
			_ = s.p.Send(s.options.Requests, request.NewCancel(s.options.Requests, id))
		}
		return
	}
	if d := s.waiting.of(out); d != nil { // not submitted yet, and no longer needed
		s.waiting.remove(d)
		out.Finish(jsonrpc.Message{})
	}
}
