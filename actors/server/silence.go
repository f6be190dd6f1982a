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

// Many clients leave without ending their session. A session without a request or an open stream
// for a long time releases its servers: its own connections are closed, its subscriptions end, and
// no connection is kept to tell it of changed lists. When its client is back all of that is
// restored, and the client is told what may have changed meanwhile.

// silence is what a session has released.
type silence struct {
	timer otp.Timer
	long  time.Duration // servers with an idle_release up to this were released; 0 means none
	own   []string      // released servers to which the session had its own connection
	away  bool          // the dispatcher keeps no connection for the session
	// missed are the servers for which a resubscription reports the resources as changed.
	missed map[string]bool
}

// silenceDue is the timer message: the client may have been silent for long enough.
type silenceDue struct{}

// letGo reports whether a session releases some of its servers after so long a silence of its
// client. It also returns when to check again; 0 means never.
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

// listenToSilence sets the timer for the first time at which servers may be released. Clients of
// revisions without sessions leave none behind.
func (s *Session) listenToSilence() {
	s.silence.timer.Stop()
	if s.modern() || s.h.IsPeer() || !s.h.Streamed() {
		return
	}
	if _, next := letGo(s.servers(), 0); next > 0 {
		s.silence.timer = s.p.After(next, silenceDue{})
	}
}

// servers are the servers that the session sees.
func (s *Session) servers() []tenant.Server {
	if !s.transparent() {
		return s.tenant.Servers
	}
	if config, ok := s.tenant.Server(s.h.Endpoint().Server); ok {
		return []tenant.Server{config}
	}
	return nil
}

// silent releases the servers for which the client has been silent for long enough.
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

// stayAway tells the dispatcher to keep no connection for this session, if its servers were
// released.
func (s *Session) stayAway() {
	if s.silence.away {
		_ = s.p.Send(s.o.Notices, &notification.Away{Handler: notification.Mailbox{Ref: s.p.Self()}})
	}
}

// back restores what the session released, because its client has sent a message or opened a
// stream. A local server that does not run is not started for list changes.
func (s *Session) back() {
	was := s.silence
	if was.long == 0 {
		return
	}
	s.silence = silence{timer: was.timer, missed: map[string]bool{}}
	s.listen()
	for _, u := range s.record.URIs {
		if config, ok := s.tenant.Server(u.Server); ok && config.Releases() > 0 &&
			config.Releases() <= was.long {
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

// introducedTo uses a connection that the catalogue assigned to this session, unless the session
// has one already: see catalog.Introduced.
func (s *Session) introducedTo(m catalog.Introduced) {
	if ref, ok := s.targets[m.Server]; !ok || !ref.Alive() {
		s.use(m.Server, m.Ref, nil, func(error) {})
	}
}
