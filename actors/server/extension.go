package server

import (
	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// The methods of an extension are passed on where a client sees one server as it is, when both have
// declared it. Requests are calls like any other; what is here is about notifications. Those that
// nobody declared are passed on too, between ends of one era.

// MaxTelling bounds the notifications of one session that wait for a connection to their server.
const MaxTelling = 16

// telling is a notification of the client on its way to a connection.
type telling struct {
	m    jsonrpc.Message
	kept *quota.Reservation
}

// told is the connection that a notification of the client is for.
type told struct {
	t   *telling
	ref otp.Ref
	err error
}

// passes reports whether a notification of the client goes to its one server: one that MCP does not
// know. The connection drops it where the server is of the other era and nobody declared it.
func (s *Session) passes(m jsonrpc.Message) bool {
	return s.transparent() && !protocol.Known(m.Method) && m.Params.Kind() != '['
}

// hears reports whether this client may hear of a notification, as far as the two ends' revisions
// and declarations go.
func (s *Session) hears(n *notification.Notice) bool {
	switch {
	case subscription.ListChanged(n.Method) && protocol.Known(n.Method) && s.transparent() && !s.modern():
		return true // directly a client hears of it too, whatever its server declares
	case protocol.Known(n.Method):
		return s.gate().Check(protocol.Server, n.Method, n.Params) == nil
	case !s.transparent(): // the list of all servers has no extension
		return false
	}
	return s.gate().Extended() || n.Era == s.version().Era()
}

// extended reports whether calls of this session may be told of by notifications of an extension.
func (s *Session) extended() bool { return s.transparent() && s.gate().Extended() }

// pass passes a notification of the client on to its one server, which is started if need be.
func (s *Session) pass(m jsonrpc.Message) {
	server := s.h.Endpoint().Server
	t := s.waiting.tell(m)
	if t == nil {
		s.untold(m, "queue_full")
		return
	}
	if ref, ok := s.targets[server]; ok && ref.Alive() {
		s.told(told{t, ref, nil})
		return
	}
	otp.CallAsync(s.p, s.o.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: server},
		func(ref otp.Ref, err error) any { return told{t, ref, err} })
}

// told sends the notification, now that there is a connection. One to a server that cannot be
// reached is lost, as on a connection of the client's own.
func (s *Session) told(m told) {
	if m.err != nil {
		s.waiting.toldOf(m.t)
		m.t.kept.Release()
		s.untold(m.t.m, "unreachable")
		return
	}
	server := s.h.Endpoint().Server
	send := func() {
		s.waiting.toldOf(m.t)
		if s.p.Send(
			m.ref,
			&client.Tell{
				Method: m.t.m.Method,
				Params: m.t.m.Params,
				From:   s.version(),
				Kept:   m.t.kept,
			},
		) != nil {
			m.t.kept.Release()
			s.untold(m.t.m, "queue_full")
		}
	}
	if s.targets[server] == m.ref {
		send()
		return
	}
	s.use(server, m.ref, nil, func(error) { send() })
}

// untold counts a notification of the client that its server will not get.
func (s *Session) untold(m jsonrpc.Message, why string) {
	s.o.Emit(
		telemetry.NotificationDropped{Where: s.where(), Method: m.Method, Reason: why, Count: 1},
	)
}

// tell keeps a notification until there is a connection for it. Nil says that there is no room.
func (w *waiting) tell(m jsonrpc.Message) *telling {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.kept.TryReserve(quota.Requests, len(m.Params))
	if w.over || len(w.tells) >= MaxTelling || kept == nil && w.kept != nil {
		kept.Release()
		return nil
	}
	if w.tells == nil {
		w.tells = map[*telling]bool{}
	}
	t := &telling{m, kept}
	w.tells[t] = true
	return t
}

// toldOf lets go of a notification that is passed on, or is not going to be.
func (w *waiting) toldOf(t *telling) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.tells, t); len(w.tells) == 0 {
		w.tells = nil
	}
}

// dropTells is for an actor that nobody waits for any more. The mutex is held.
func (w *waiting) dropTells() {
	for t := range w.tells {
		t.kept.Release()
	}
	w.tells = nil
}
