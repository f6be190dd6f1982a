package server

import (
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

// Many clients leave without ending their session. A session without a request or an open stream
// for a long time releases its servers: its own connections are closed, its subscriptions end, and
// no connection is kept to tell it of changed lists. When its client is back all of that is
// restored, and the client is told what may have changed meanwhile.

// idleRelease is what a session has released.
type idleRelease struct {
	timer          otp.Timer
	long           time.Duration // servers with an idle_release up to this were released; 0 means none
	ownConnections []string      // released servers to which the session had its own connection
	unregistered   bool          // the dispatcher keeps no connection for the session
	// missed are the servers for which a resubscription reports the resources as changed.
	missed map[string]bool
}

// idleReleaseDue is the timer message: the client may have been silent for long enough.
type idleReleaseDue struct{}

// releasesAny reports whether a session releases some of its servers after so long a silence of its
// client. It also returns when to check again; 0 means never.
func releasesAny(servers []tenant.Server, silent time.Duration) (some bool, next time.Duration) {
	for i := range servers {
		switch after := servers[i].ReleaseAfter(); {
		case after == 0:
		case silent >= after:
			some = true
		case next == 0 || after-silent < next:
			next = after - silent
		}
	}
	return some, next
}

// armIdleRelease sets the timer for the first time at which servers may be released. Clients of
// revisions without sessions leave none behind.
func (s *Session) armIdleRelease() {
	s.silence.timer.Stop()
	if s.modern() || s.handle.IsPeer() || !s.handle.Streamed() {
		return
	}
	if _, next := releasesAny(s.servers(), 0); next > 0 {
		s.silence.timer = s.p.After(next, idleReleaseDue{})
	}
}

// servers are the servers that the session sees.
func (s *Session) servers() []tenant.Server {
	if !s.singleServer() {
		return s.tenant.Servers
	}
	if config, ok := s.tenant.Server(s.handle.Endpoint().Server); ok {
		return []tenant.Server{config}
	}
	return nil
}

// releaseIdle releases the servers for which the client has been silent for long enough.
func (s *Session) releaseIdle() {
	long := s.handle.Idle(s.p.Now())
	if s.handle.Busy() {
		long = 0
	}
	some, next := releasesAny(s.servers(), long)
	if next > 0 {
		s.silence.timer = s.p.After(next, idleReleaseDue{})
	}
	if !some {
		return
	}
	s.silence.long = long
	for server, ref := range sortedmap.Sorted(s.targets) {
		config, ok := s.tenant.Server(server)
		if after := config.ReleaseAfter(); !ok || after == 0 || after > long {
			continue
		}
		delete(s.targets, server)
		if config.Share.Applied(config.Link()) == tenant.BySession {
			s.silence.ownConnections = append(s.silence.ownConnections, server)
		}
		_ = s.p.Send(ref, client.Release{Ref: s.p.Self()})
	}
	if s.handle.MarkReleased(); next == 0 {
		s.silence.unregistered = true
		s.releaseInDispatcher()
	}
}

// releaseInDispatcher tells the dispatcher to keep no connection for this session, if its servers
// were released.
func (s *Session) releaseInDispatcher() {
	if s.silence.unregistered {
		_ = s.p.Send(s.options.Notices, &notification.Away{
			Handler: notification.Mailbox{Ref: s.p.Self()},
		})
	}
}

// restoreReleased restores what the session released, because its client has sent a message or
// opened a stream. A local server that does not run is not started for list changes.
func (s *Session) restoreReleased() {
	was := s.silence
	if was.long == 0 {
		return
	}
	s.silence = idleRelease{timer: was.timer, missed: map[string]bool{}}
	s.listen()
	for _, u := range s.record.URIs {
		if config, ok := s.tenant.Server(u.Server); ok && config.ReleaseAfter() > 0 &&
			config.ReleaseAfter() <= was.long {
			s.silence.missed[u.Server] = true
		}
	}
	for server := range sortedmap.Sorted(s.silence.missed) {
		s.reconnect(server)
	}
	for _, server := range was.ownConnections {
		if !s.silence.missed[server] {
			s.reconnect(server)
		}
	}
	otp.CallAsync(s.p, s.options.Catalog, catalog.LookRequest{Caller: s.caller(), RefreshRemote: true},
		func(*catalog.View, error) any { return nil })
	s.armIdleRelease()
}

// introducedTo uses a connection that the catalogue assigned to this session, unless the session
// has one already: see catalog.Assigned.
func (s *Session) introducedTo(m catalog.Assigned) {
	if ref, ok := s.targets[m.Server]; !ok || !ref.Alive() {
		s.use(m.Server, m.Ref, nil, func(error) {})
	}
}
