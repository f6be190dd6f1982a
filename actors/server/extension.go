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

// The methods of an extension are passed on at a transparent endpoint, when the client and the
// server have both declared the extension. Requests are ordinary calls; this file handles the
// notifications. Notifications that neither side declared are passed on too, if both sides are of
// the same era.

// MaxPendingNotifications bounds the notifications of one session that wait for a connection to
// their server.
const MaxPendingNotifications = 16

// pendingNotification is a notification of the client that waits for a connection.
type pendingNotification struct {
	m           jsonrpc.Message
	reservation *quota.Reservation
}

// notificationTarget is the connection for a notification of the client.
type notificationTarget struct {
	t   *pendingNotification
	ref otp.Ref
	err error
}

// forwardsNotification reports whether a notification of the client goes to its one server. That is
// so for every method that MCP does not define. The connection drops the notification if the server
// is of the other era and no extension was declared for it.
func (s *Session) forwardsNotification(m jsonrpc.Message) bool {
	return s.singleServer() && !protocol.IsKnownMethod(m.Method) && m.Params.Kind() != '['
}

// mayReceive reports whether this client may get a notification, given the revisions and
// declarations of both sides.
func (s *Session) mayReceive(n *notification.Notice) bool {
	switch {
	case subscription.ListChanged(n.Method) && protocol.IsKnownMethod(n.Method) && s.singleServer() &&
		!s.modern():
		return true // As on a direct connection, a client gets it whatever its server declares.
	case protocol.IsKnownMethod(n.Method):
		return s.gate().Check(protocol.Server, n.Method, n.Params) == nil
	case !s.singleServer(): // the aggregate supports no extension
		return false
	}
	return s.gate().SharesExtension() || n.Era == s.version().Era()
}

// extended reports whether the client may get notifications of an extension during calls of this
// session.
func (s *Session) extended() bool { return s.singleServer() && s.gate().SharesExtension() }

// forwardNotification sends a notification of the client to its one server, which is started if
// necessary.
func (s *Session) forwardNotification(m jsonrpc.Message) {
	server := s.handle.Endpoint().Server
	t := s.waiting.addNotification(m)
	if t == nil {
		s.countDropped(m, "queue_full")
		return
	}
	if ref, ok := s.targets[server]; ok && ref.Alive() {
		s.sendPending(notificationTarget{t, ref, nil})
		return
	}
	otp.CallAsync(s.p, s.options.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: server},
		func(ref otp.Ref, err error) any { return notificationTarget{t, ref, err} })
}

// sendPending sends a notification, now that there is a connection. If the server cannot be reached
// the notification is lost, as it would be on a direct connection.
func (s *Session) sendPending(m notificationTarget) {
	if m.err != nil {
		s.waiting.removeNotification(m.t)
		m.t.reservation.Release()
		s.countDropped(m.t.m, "unreachable")
		return
	}
	server := s.handle.Endpoint().Server
	send := func() {
		s.waiting.removeNotification(m.t)
		if s.p.Send(
			m.ref,
			&client.ClientNotification{
				Method: m.t.m.Method,
				Params: m.t.m.Params,
				From:   s.version(),
				Kept:   m.t.reservation,
			},
		) != nil {
			m.t.reservation.Release()
			s.countDropped(m.t.m, "queue_full")
		}
	}
	if s.targets[server] == m.ref {
		send()
		return
	}
	s.use(server, m.ref, nil, func(error) { send() })
}

// countDropped counts a notification of the client that its server does not get.
func (s *Session) countDropped(m jsonrpc.Message, reason string) {
	s.options.Emit(
		telemetry.NotificationDropped{Where: s.where(), Method: m.Method, Reason: reason, Count: 1},
	)
}

// addNotification keeps a notification until there is a connection for it. It returns nil when
// there is no room.
func (w *pendingRequests) addNotification(m jsonrpc.Message) *pendingNotification {
	w.mu.Lock()
	defer w.mu.Unlock()
	reservation := w.quota.TryReserve(quota.Requests, len(m.Params))
	if w.abandoned || len(w.notifications) >= MaxPendingNotifications ||
		reservation == nil && w.quota != nil {
		reservation.Release()
		return nil
	}
	if w.notifications == nil {
		w.notifications = map[*pendingNotification]bool{}
	}
	t := &pendingNotification{m, reservation}
	w.notifications[t] = true
	return t
}

// removeNotification releases a notification that was passed on or dropped.
func (w *pendingRequests) removeNotification(t *pendingNotification) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.notifications, t); len(w.notifications) == 0 {
		w.notifications = nil
	}
}

// dropNotifications releases the notifications of an actor that is gone. The caller holds the
// mutex.
func (w *pendingRequests) dropNotifications() {
	for t := range w.notifications {
		t.reservation.Release()
	}
	w.notifications = nil
}
