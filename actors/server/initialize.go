package server

import (
	"cmp"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/notification"
	"mcpd/actors/session"
	"mcpd/actors/version"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	lifecycle "mcpd/protocol/session"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// AggregateWait is how long initialize on the aggregate waits for servers that are starting. Capabilities and instructions of one that
// comes later are missing from the answer; its lists are not.
const AggregateWait = 2 * time.Second

// AloneWait is how long initialize on a server's own endpoint waits for it, if the server may take as long: the official SDKs wait 60 s, and are to
// hear why it failed.
const AloneWait = 55 * time.Second

// handshake is one initialize on its way.
type handshake struct {
	d      *session.Deliver
	client protocol.Implementation
	caps   protocol.ClientCapabilities
	agreed protocol.Agreement
	since  time.Time // when it came
}

type (
	negotiated struct {
		h   *handshake
		a   protocol.Agreement
		err error
	}
	introduced struct {
		h    *handshake
		view *catalog.View
		err  error
	}
)

// initialize begins the handshake. Nothing of the session changes before it has succeeded, so a refused client may try again (S0-58).
func (s *Session) initialize(d *session.Deliver) {
	if s.opening || s.record != nil {
		s.refuse(d, protocol.AlreadyInitialized())
		return
	}
	asked, err := protocol.ParseInitialize(d.Message.Params)
	if err != nil {
		s.refuse(d, err)
		return
	}
	s.opening = true
	s.waiting.add(d)
	h := &handshake{d: d, client: asked.Info, caps: asked.Capabilities, since: s.p.Now()}
	otp.CallAsync(s.p, s.o.Versions, version.NegotiateRequest{
		Requested: asked.Version, Policy: s.o.Tenant().Negotiation, Tenant: s.tenant.Name, Session: s.h.Row(),
	}, func(a protocol.Agreement, err error) any { return negotiated{h, a, err} })
}

// negotiated asks what there is to offer. A transparent endpoint has nothing to say without its server, so it waits for it as long as that may
// take to start.
func (s *Session) negotiated(m negotiated) {
	if !s.waiting.has(m.h.d) { // refused meanwhile
		s.opening = false
		return
	}
	if m.err != nil {
		s.opening = false
		s.refuse(m.h.d, m.err)
		return
	}
	m.h.agreed, m.h.caps = m.a, m.h.caps.Shape(m.a.Version) // what the agreed revision has no word for, nobody can use
	caller := s.caller()
	caller.Capabilities = m.h.caps
	s.withhold(&caller)
	otp.CallAsync(s.p, s.o.Catalog, catalog.LookRequest{Caller: caller, Wait: s.firstWait()},
		func(v *catalog.View, err error) any { return introduced{m.h, v, err} })
}

// firstWait is how long whoever asks what there is waits for servers that are starting.
func (s *Session) firstWait() time.Duration {
	if config, ok := s.tenant.Server(s.h.Endpoint().Server); ok {
		return min(cmp.Or(config.StartTimeout, AloneWait), AloneWait)
	}
	return AggregateWait
}

// expired ends a session whose client was too slow. What its server takes to start does not count.
func (s *Session) expired() {
	if s.opening {
		s.timer = s.p.After(s.tenant.Limits.SessionInit, initExpired{})
		return
	}
	_ = s.enter(lifecycle.Expire)
}

// introduced completes the handshake: what was agreed is kept before the client hears of it.
func (s *Session) introduced(m introduced) {
	s.opening = false
	s.life.Extend(s.p.Now().Sub(m.h.since))
	if !s.waiting.has(m.h.d) { // refused meanwhile
		return
	}
	err := m.err
	if err == nil && s.transparent() && len(m.view.Servers) == 0 {
		err = protocol.UpstreamLost(s.h.Endpoint().Server, false, nil)
	}
	if err != nil {
		s.refuse(m.h.d, err)
		return
	}
	if err := s.enter(lifecycle.Greet); err != nil {
		s.refuse(m.h.d, err)
		return
	}
	s.saw(m.view)
	offered := m.view.Offer(m.h.agreed.Version)
	s.record = &session.Record{Version: m.h.agreed.Version, Capabilities: m.h.caps, Offered: offered.Recorded(m.h.caps), Withheld: m.view.Withheld(), Client: m.h.client}
	s.save(s.record)
	agreement := protocol.Handshake{
		Agreement: m.h.agreed, Client: m.h.caps, ClientInfo: m.h.client, Server: offered,
	}
	result := agreement.Result(s.introduce())
	s.write(m.h.d, func(durable bool) {
		s.answer(m.h.d, result)
		s.o.Emit(telemetry.SessionOpened{
			Where: s.where(), Transport: s.h.Transport(), Principal: s.h.Endpoint().Principal, Client: m.h.client.Name + " " + m.h.client.Version,
			Revision: m.h.agreed.Version.String(), Requested: m.h.agreed.Requested, Durable: durable,
			RequestID: m.h.d.Message.ID.String(), Capabilities: m.h.caps.Fingerprint().String(),
		})
	})
}

// introduce is who the client is told it talks to. A transparent endpoint shows its server's own name and instructions.
func (s *Session) introduce() (protocol.Implementation, string) {
	if s.transparent() {
		facts := s.view.Servers[0].Facts
		return facts.Server, facts.Instructions
	}
	all := make([]merge.Instruction, 0, len(s.view.Servers))
	for _, known := range s.view.Servers {
		all = append(all, merge.Instruction{Server: known.Name, Text: known.Facts.Instructions})
	}
	return s.o.Self, merge.Instructions(all)
}

// ready ends the handshake. A request that overtakes notifications/initialized over HTTP counts as it.
func (s *Session) ready() {
	if !s.record.Ready {
		s.store(func(r *session.Record) { r.Ready = true })
	}
	if !s.modern() { // it hears of nothing before it listens
		s.listen()
		s.listenToSilence()
		if s.h.Returns() {
			s.survived()
		}
	}
}

// listen asks the dispatcher for what servers announce over this session's connections. What a
// server says over another principal's connection is that principal's. A session that sees all
// servers as one asks by connection and not by server, which is as often as its connections differ,
// however many servers there are. It hears of changed lists once for all of them.
func (s *Session) listen() {
	what, server := notification.All, ""
	if s.transparent() {
		what, server = notification.Any, s.h.Endpoint().Server
	}
	for _, key := range catalog.Keys(s.tenant.Servers, s.caller()) {
		_ = s.p.Send(s.o.Notices, &notification.Register{
			Method: what, Server: server, Key: key, Handler: notification.Mailbox{Ref: s.p.Self()},
		})
	}
}
