package server

import (
	"errors"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/session"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// IntentWait is how long a request waits for servers to grant what the client wants of them. A
// slower server grants it later, so that a request does not wait for the slowest server of all.
const IntentWait = 2 * time.Second

// intentWait is a request that goes on when the servers have granted what the client wants, or
// after IntentWait.
type intentWait struct {
	d *session.Deliver // nil when no request waits
	// then is nil once it was called. Its argument refused is not nil when all servers have answered,
	// and all have refused.
	then    func(refused error)
	waiting int   // servers that have not answered
	granted bool  // at least one server has not refused
	refused error // by the server that refused last
	timer   otp.Timer
}

type (
	intentAnswer struct {
		w   *intentWait
		err error
	}
	intentExpired struct{ w *intentWait }
)

// subscriptionIntent is everything that the client wants of a server besides its calls. It omits
// subscriptions that are still being requested, because the server may refuse them.
func (s *Session) subscriptionIntent(server string) client.SubscriptionIntent {
	w := client.SubscriptionIntent{Session: s.handle.Row(), Level: s.record.Level}
	if s.modern() {
		w.Level = s.levels[server]
	}
	for _, u := range s.record.URIs {
		if u.Server == server && u.Asking == 0 {
			w.URIs = append(w.URIs, u.Own)
		}
	}
	return w
}

// sendIntent tells servers what the client wants of them, and then goes on with a waiting request.
func (s *Session) sendIntent(d *session.Deliver, servers []string, then func(refused error)) {
	w := &intentWait{d: d, then: then, waiting: len(servers)}
	if len(servers) == 0 {
		then(nil)
		return
	}
	if d != nil {
		s.waiting.add(d)
	}
	w.timer = s.p.After(IntentWait, intentExpired{w})
	for _, server := range servers {
		intent := s.subscriptionIntent(server)
		intent.Missed = s.silence.missed[server]
		delete(s.silence.missed, server)
		otp.CallAsync(s.p, s.targets[server], intent, func(_ struct{}, err error) any {
			return intentAnswer{w, err}
		})
	}
}

// intentAnswered handles the answer of one server. Only an error of the server itself is a refusal.
// A connection that is gone counts as granted, because its successor is told again.
func (s *Session) intentAnswered(m intentAnswer) {
	w := m.w
	w.waiting--
	var refused *jsonrpc.Error
	if errors.As(m.err, &refused) {
		w.refused = refused
	} else {
		w.granted = true
	}
	if w.waiting > 0 {
		return
	}
	if w.granted {
		w.refused = nil
	}
	s.proceed(w, w.refused)
}

// proceed goes on with the request, unless it already went on or was cancelled meanwhile.
func (s *Session) proceed(w *intentWait, refused error) {
	then := w.then
	w.then = nil
	w.timer.Stop()
	if then != nil && (w.d == nil || s.waiting.has(w.d)) {
		then(refused)
	}
}

// setLevel stores the client's log level and sends it to every server in use. A success says that
// the servers log at that level. The client gets an error only if all servers have refused.
func (s *Session) setLevel(d *session.Deliver) {
	level, _ := jsonedit.GetString(d.Message.Params, "level")
	if !protocol.ValidLogLevel(level) {
		s.refuse(d, protocol.InvalidLogLevel("params.level", level))
		return
	}
	s.store(func(r *session.Record) { r.Level = level })
	servers := make([]string, 0, len(s.targets))
	for server := range sortedmap.Sorted(s.targets) {
		servers = append(servers, server)
	}
	s.sendIntent(d, servers, func(refused error) {
		if refused != nil {
			s.refuse(d, refused)
			return
		}
		s.answer(d, nil)
	})
}
