package server

import (
	"errors"

	"mcpd/actors/catalog"
	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/protocol"
	lifecycle "mcpd/protocol/session"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Messages that the session sends to itself.
type (
	initExpired struct{}
	resumed     struct {
		server string
		ref    otp.Ref
		err    error
	}
)

// Init takes over the session from its previous actor.
func (s *Session) Init(p *otp.Process) error {
	s.p, s.tenant = p, s.options.Tenant()
	s.waiting = &pendingRequests{addInFlight: s.handle.AddWaiting, quota: s.options.Account}
	p.SetCarriedState(s.waiting)
	s.handle.SetListens(0) // the subscriptions of the previous actor are gone
	s.life = lifecycle.NewServer(
		p.Now(),
		lifecycle.Options{Timeout: s.tenant.Limits.SessionInit, Unordered: s.handle.Streamed()},
	)
	s.timer = p.After(s.life.Deadline().Sub(p.Now()), initExpired{})
	if s.record = s.handle.Record(); s.record == nil {
		return nil
	}
	if err := s.enter(lifecycle.Greet); err != nil {
		return err
	}
	// A client that was told of the handshake counts as having confirmed it. The previous actor may
	// have crashed on that confirmation, which no client sends twice. A client that has yet to send it
	// still may.
	s.resume()
	return s.enter(lifecycle.Confirm)
}

// resume connects again to the servers of the client's resource subscriptions. A server may have
// forgotten them, so each is told all of the client's subscriptions.
func (s *Session) resume() {
	// the previous actor was told of their end
	s.markSubscribed(func(exchange uint64) bool { return !s.handle.Calls().Has(exchange) })
	wanted := map[string]bool{}
	for _, u := range s.record.URIs {
		if !wanted[u.Server] {
			wanted[u.Server] = true
			s.reconnect(u.Server)
		}
	}
}

// reconnect asks for a connection to a server for the sake of the client's subscriptions.
func (s *Session) reconnect(server string) {
	otp.CallAsync(s.p, s.options.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: server},
		func(ref otp.Ref, err error) any { return resumed{server, ref, err} })
}

// enter takes a lifecycle event and performs its effects.
func (s *Session) enter(e lifecycle.Event) error {
	effects, err := s.life.Step(s.p.Now(), e)
	s.perform(effects)
	return err
}

func (s *Session) perform(effects []lifecycle.Effect) {
	for _, e := range effects {
		switch e.Do {
		case lifecycle.Entered:
			s.options.Emit(telemetry.PhaseChanged{
				Where: s.where(), Side: "downstream", From: e.Transition.From.String(),
				To: e.Transition.To.String(),
			})
			if e.Transition.To == lifecycle.Ready {
				s.ready()
			}
		case lifecycle.Disarm:
			s.timer.Stop()
		case lifecycle.Arm:
			s.timer = s.p.After(e.At.Sub(s.p.Now()), initExpired{})
		case lifecycle.Close:
			s.close(e.Reason)
		}
	}
}

// close ends the session for good. The manager answers with Expired.
func (s *Session) close(cause error) {
	reason := telemetry.ClosedNormally
	if errors.Is(cause, lifecycle.ErrInitializationTimeout) {
		reason = telemetry.ClosedUninitialized
	}
	s.handle.End(reason)
}

// Terminate releases everything that this session has asked of others. Its questions end in any
// case. Its exchanges end only with the session: otherwise another actor follows, and their sinks
// outlive this actor.
func (s *Session) Terminate(*otp.Process, error) {
	s.handle.Questions().Refuse()
	if s.handle.Closed() {
		s.handle.Forget()
		s.hangUp()
		// late: the session is over, for its next actor as well.
		_ = s.options.Requests.Send(request.NewCancelOwner(s.options.Requests, s.handle.Row()))
		// late: as above.
		_ = s.options.Notices.Send(&notification.Forget{Handler: notification.Mailbox{Ref: s.p.Self()}})
	}
}

// stop refuses the waiting requests, because the host is about to stop. An initialize with agreed
// terms is left alone: it is answered once the session is stored.
func (s *Session) stop() {
	for _, d := range s.waiting.list() {
		if d.Acknowledged() || d.Message.Method == "initialize" && s.record != nil {
			continue
		}
		delete(s.listens, d.Out)
		s.handle.SetListens(len(s.listens))
		s.refuse(d, protocol.Stopping(s.handle.Endpoint().Server, false))
	}
}
