package server

import (
	"errors"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/session"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// WishWait is how long a request waits for servers to grant what the client wants of them. One that is slower does so later; nobody is to
// wait for the slowest server of all.
const WishWait = 2 * time.Second

// wishing is a request that goes on when servers have granted what the client wants of them, or after WishWait.
type wishing struct {
	d       *session.Deliver    // nil when no request waits
	then    func(refused error) // refused is set when they have all answered, and with refusals; nil when it was called
	waiting int                 // servers that have not answered
	granted bool                // one has not refused
	refused error               // by the one that answered last
	timer   otp.Timer
}

type (
	wished struct {
		w   *wishing
		err error
	}
	wishExpired struct{ w *wishing }
)

// wish is all that the client wants of a server beside its calls. What a call is still asking for is not part of it: the server may refuse.
func (s *Session) wish(server string) client.Wish {
	w := client.Wish{Session: s.h.Row(), Level: s.record.Level}
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

// tell tells servers what the client wants of them, and then goes on with a request that waits for it.
func (s *Session) tell(d *session.Deliver, servers []string, then func(refused error)) {
	w := &wishing{d: d, then: then, waiting: len(servers)}
	if len(servers) == 0 {
		then(nil)
		return
	}
	if d != nil {
		s.waiting.add(d)
	}
	w.timer = s.p.After(WishWait, wishExpired{w})
	for _, server := range servers {
		wish := s.wish(server)
		wish.Missed = s.silence.missed[server]
		delete(s.silence.missed, server)
		otp.CallAsync(s.p, s.targets[server], wish, func(_ struct{}, err error) any { return wished{w, err} })
	}
}

// wished hears what became of it at one server. A connection that is gone is told again when there is another.
func (s *Session) wished(m wished) {
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
	s.goOn(w, w.refused)
}

// goOn goes on with the request, unless it did already or was cancelled meanwhile.
func (s *Session) goOn(w *wishing, refused error) {
	then := w.then
	w.then = nil
	w.timer.Stop()
	if then != nil && (w.d == nil || s.waiting.has(w.d)) {
		then(refused)
	}
}

// setLevel keeps the client's log level and tells every server it uses. The answer says that they log accordingly; that one refused is
// the client's error only when none did otherwise.
func (s *Session) setLevel(d *session.Deliver) {
	level, _ := splice.GetString(d.Message.Params, "level")
	if !protocol.ValidLogLevel(level) {
		s.refuse(d, protocol.InvalidParams("params.level is none of the eight log levels"))
		return
	}
	s.store(func(r *session.Record) { r.Level = level })
	servers := make([]string, 0, len(s.targets))
	for server := range order.Of(s.targets) {
		servers = append(servers, server)
	}
	s.tell(d, servers, func(refused error) {
		if refused != nil {
			s.refuse(d, refused)
			return
		}
		s.answer(d, nil)
	})
}
