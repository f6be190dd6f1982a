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

// Messages that only the session sends itself.
type (
	initExpired struct{}
	resumed     struct {
		server string
		ref    otp.Ref
		err    error
	}
)

// Init takes up the session where its previous actor left it.
func (s *Session) Init(p *otp.Process) error {
	s.p, s.tenant = p, s.o.Tenant()
	s.waiting = &waiting{waits: s.h.Waits, kept: s.o.Kept}
	p.SetHeir(s.waiting)
	s.h.Listens(0) // those of the actor before this one are gone
	s.life = lifecycle.NewServer(
		p.Now(),
		lifecycle.Options{Timeout: s.tenant.Limits.SessionInit, Unordered: s.h.Streamed()},
	)
	s.timer = p.After(s.life.Deadline().Sub(p.Now()), initExpired{})
	if s.record = s.h.Record(); s.record == nil {
		return nil
	}
	if err := s.enter(lifecycle.Greet); err != nil {
		return err
	}
	// A client that was told of the handshake is taken to have confirmed it. The actor before this one
	// may have crashed of that very message, which no client sends twice; one that has yet to send
	// it may.
	s.resume()
	return s.enter(lifecycle.Confirm)
}

// resume connects anew to the servers from which the client wants to hear of resources. They may
// have forgotten it meanwhile, so each is told all that the client wants.
func (s *Session) resume() {
	// their end was told to the actor before this one
	s.agreed(func(exchange uint64) bool { return !s.h.Calls().Has(exchange) })
	wanted := map[string]bool{}
	for _, u := range s.record.URIs {
		if !wanted[u.Server] {
			wanted[u.Server] = true
			s.reconnect(u.Server)
		}
	}
}

// reconnect asks for a connection to a server on behalf of what the client wants to hear from it.
func (s *Session) reconnect(server string) {
	otp.CallAsync(s.p, s.o.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: server},
		func(ref otp.Ref, err error) any { return resumed{server, ref, err} })
}

// enter takes a lifecycle event and does what comes of it.
func (s *Session) enter(e lifecycle.Event) error {
	effects, err := s.life.Step(s.p.Now(), e)
	s.perform(effects)
	return err
}

func (s *Session) perform(effects []lifecycle.Effect) {
	for _, e := range effects {
		switch e.Do {
		case lifecycle.Entered:
			s.o.Emit(telemetry.PhaseChanged{
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

// close ends the session for good; its end comes back as Expired.
func (s *Session) close(why error) {
	reason := telemetry.ClosedNormally
	if errors.Is(why, lifecycle.ErrInitializationTimeout) {
		reason = telemetry.ClosedUninitialized
	}
	s.h.End(reason)
}

// Terminate lets go of everything this session has asked of others. Its questions end with it. Its
// exchanges do so only with the session itself: otherwise another actor follows, and their sinks
// outlive this one.
func (s *Session) Terminate(*otp.Process, error) {
	s.h.Questions().Refuse()
	if s.h.Closed() {
		s.h.Forget()
		s.hangUp()
		// late: the session is over, for whoever comes after as well.
		_ = s.o.Requests.Send(request.NewCancelOwner(s.o.Requests, s.h.Row()))
		// late: as above.
		_ = s.o.Notices.Send(&notification.Forget{Handler: notification.Mailbox{Ref: s.p.Self()}})
	}
}

// stop refuses what waits, because the host is about to stop. An agreed handshake is being written
// down, and answered then.
func (s *Session) stop() {
	for _, d := range s.waiting.list() {
		if d.Acknowledged() || d.Message.Method == "initialize" && s.record != nil {
			continue
		}
		delete(s.listens, d.Out)
		s.h.Listens(len(s.listens))
		s.refuse(d, protocol.Stopping(s.h.Endpoint().Server, false))
	}
}
