package server

import (
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
)

// Many clients go without ending their session. A session that has no request and no open stream for
// long lets go of its servers: connections that it has for itself are closed, subscriptions end, and
// no connection is kept for it to hear of changed lists. When its client is back all of that is made
// again, and the client is told what may have changed meanwhile.

// silence is what a session has let go of.
type silence struct {
	timer otp.Timer
	long  time.Duration // servers with an idle_release up to this were let go of; 0 is none
	own   []string      // those of them to which it had a connection of its own
	away  bool          // the dispatcher keeps no connection for it
	// missed are the servers whose resources are told as changed when they are subscribed to again.
	missed map[string]bool
}

// silenceDue says that the client may have been silent for long enough.
type silenceDue struct{}

// letGo says whether a session whose client has been silent for so long lets go of some of the servers
// that it sees, and when to look again; 0 is never.
func letGo(servers []tenant.Server, silent time.Duration) (some bool, next time.Duration) {
	for i := range servers {
		switch after := servers[i].Releases(); {
		case after == 0:
		case silent >= after:
			some = true
		case next == 0 || after-silent < next:
			next = after - silent
		}
	}
	return some, next
}

// listenToSilence has it looked at when the client may have been silent for long enough. Clients of
// revisions without sessions have none to leave behind.
func (s *Session) listenToSilence() {
	s.silence.timer.Stop()
	if s.modern() || s.h.IsPeer() || !s.h.Streamed() {
		return
	}
	if _, next := letGo(s.servers(), 0); next > 0 {
		s.silence.timer = s.p.After(next, silenceDue{})
	}
}

// servers are those that the session sees.
func (s *Session) servers() []tenant.Server {
	if !s.transparent() {
		return s.tenant.Servers
	}
	if config, ok := s.tenant.Server(s.h.Endpoint().Server); ok {
		return []tenant.Server{config}
	}
	return nil
}

// silent lets go of the servers for which the client has been silent for long enough.
func (s *Session) silent() {
	long := s.h.Idle(s.p.Now())
	if s.h.Busy() {
		long = 0
	}
	some, next := letGo(s.servers(), long)
	if next > 0 {
		s.silence.timer = s.p.After(next, silenceDue{})
	}
	if !some {
		return
	}
	s.silence.long = long
	for server, ref := range order.Of(s.targets) {
		config, ok := s.tenant.Server(server)
		if after := config.Releases(); !ok || after == 0 || after > long {
			continue
		}
		delete(s.targets, server)
		if config.Share.Applied(config.Link()) == tenant.BySession {
			s.silence.own = append(s.silence.own, server)
		}
		_ = s.p.Send(ref, client.Release{Ref: s.p.Self()})
	}
	if s.h.LetGo(); next == 0 {
		s.silence.away = true
		s.stayAway()
	}
}

// stayAway tells the dispatcher that no connection is to be kept for this session, if that is so.
func (s *Session) stayAway() {
	if s.silence.away {
		_ = s.p.Send(s.o.Notices, &notification.Away{Handler: notification.Mailbox{Ref: s.p.Self()}})
	}
}

// back makes again what the session let go of: its client has said something, or opened a stream. To
// hear of changed lists it needs no program that does not run.
func (s *Session) back() {
	was := s.silence
	if was.long == 0 {
		return
	}
	s.silence = silence{timer: was.timer, missed: map[string]bool{}}
	s.listen()
	for _, u := range s.record.URIs {
		if config, ok := s.tenant.Server(u.Server); ok && config.Releases() > 0 && config.Releases() <= was.long {
			s.silence.missed[u.Server] = true
		}
	}
	for server := range order.Of(s.silence.missed) {
		s.reconnect(server)
	}
	for _, server := range was.own {
		if !s.silence.missed[server] {
			s.reconnect(server)
		}
	}
	otp.CallAsync(s.p, s.o.Catalog, catalog.LookRequest{Caller: s.caller(), Remote: true},
		func(*catalog.View, error) any { return nil })
	s.listenToSilence()
}

// introducedTo takes note of a connection that the catalogue has it use: see catalog.Introduced.
func (s *Session) introducedTo(m catalog.Introduced) {
	if ref, ok := s.targets[m.Server]; !ok || !ref.Alive() {
		s.use(m.Server, m.Ref, nil, func(error) {})
	}
}
