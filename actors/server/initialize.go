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

// AggregateWait is how long initialize on the aggregate endpoint waits for servers that are
// starting. If a server takes longer, its capabilities and instructions are missing from the
// answer, but its lists are still served.
const AggregateWait = 2 * time.Second

// TransparentWait bounds how long initialize on a transparent endpoint waits for its server,
// however long the server may take to start. The official SDKs time out after 60 s, and must get
// the reason of a failure before that.
const TransparentWait = 55 * time.Second

// handshake is one initialize in progress.
type handshake struct {
	d      *session.Deliver
	client protocol.Implementation
	caps   protocol.ClientCapabilities
	agreed protocol.Agreement
	since  time.Time // when it arrived
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

// initialize begins the handshake. The session changes only when the handshake has succeeded, so a
// refused client may try again (S0-58).
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
	otp.CallAsync(s.p, s.options.Versions, version.NegotiateRequest{
		Requested: asked.Version, Policy: s.options.Tenant().Negotiation, Tenant: s.tenant.Name,
		Session: s.handle.Row(),
	}, func(a protocol.Agreement, err error) any { return negotiated{h, a, err} })
}

// negotiated asks the catalogue what there is to offer. A transparent endpoint can offer nothing
// without its server, so it waits for as long as the server may take to start.
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
	// This drops capabilities that the agreed revision does not define.
	m.h.agreed, m.h.caps = m.a, m.h.caps.Shape(m.a.Version)
	caller := s.caller()
	caller.Capabilities = m.h.caps
	s.withhold(&caller)
	otp.CallAsync(s.p, s.options.Catalog, catalog.LookRequest{Caller: caller, Wait: s.firstWait()},
		func(v *catalog.View, err error) any { return introduced{m.h, v, err} })
}

// firstWait is how long a first look at the servers waits for those that are starting.
func (s *Session) firstWait() time.Duration {
	if config, ok := s.tenant.Server(s.handle.Endpoint().Server); ok {
		return min(cmp.Or(config.StartTimeout, TransparentWait), TransparentWait)
	}
	return AggregateWait
}

// expired ends a session whose client was too slow with its handshake. The time that the server
// takes to start does not count.
func (s *Session) expired() {
	if s.opening {
		s.timer = s.p.After(s.tenant.Limits.SessionInit, initExpired{})
		return
	}
	_ = s.enter(lifecycle.Expire)
}

// introduced completes the handshake. The agreed terms are stored before the client gets the
// answer.
func (s *Session) introduced(m introduced) {
	s.opening = false
	s.life.Extend(s.p.Now().Sub(m.h.since))
	if !s.waiting.has(m.h.d) { // refused meanwhile
		return
	}
	err := m.err
	if err == nil && s.singleServer() && len(m.view.Servers) == 0 {
		err = protocol.UpstreamLost(s.handle.Endpoint().Server, false, nil)
	}
	if err != nil {
		s.refuse(m.h.d, err)
		return
	}
	if err := s.enter(lifecycle.Greet); err != nil {
		s.refuse(m.h.d, err)
		return
	}
	s.setView(m.view)
	offered := m.view.Offer(m.h.agreed.Version)
	s.record = &session.Record{
		Version: m.h.agreed.Version, Capabilities: m.h.caps, Offered: offered.ForStorage(m.h.caps),
		Withheld: m.view.Withheld(), Client: m.h.client,
	}
	s.save(s.record)
	agreement := protocol.Handshake{
		Agreement: m.h.agreed, Client: m.h.caps, ClientInfo: m.h.client, Server: offered,
	}
	result := agreement.Result(s.introduce())
	s.write(m.h.d, func(durable bool) {
		s.answer(m.h.d, result)
		s.options.Emit(telemetry.SessionOpened{
			Where: s.where(), Transport: s.handle.Transport(), Principal: s.handle.Endpoint().Principal,
			Client:   m.h.client.Name + " " + m.h.client.Version,
			Revision: m.h.agreed.Version.String(), Requested: m.h.agreed.Requested, Durable: durable,
			RequestID: m.h.d.Message.ID.String(), Capabilities: m.h.caps.Fingerprint().String(),
		})
	})
}

// introduce is the name and the instructions for the client. A transparent endpoint shows those of
// its server.
func (s *Session) introduce() (protocol.Implementation, string) {
	if s.singleServer() {
		facts := s.view.Servers[0].Facts
		return facts.Server, facts.Instructions
	}
	all := make([]merge.Instruction, 0, len(s.view.Servers))
	for _, known := range s.view.Servers {
		all = append(all, merge.Instruction{Server: known.Name, Text: known.Facts.Instructions})
	}
	return s.options.Self, merge.Instructions(all)
}

// ready ends the handshake. Over HTTP, a request that overtakes notifications/initialized counts as
// that notification.
func (s *Session) ready() {
	if !s.record.Ready {
		s.store(func(r *session.Record) { r.Ready = true })
	}
	if !s.modern() { // a modern client gets no notifications before it subscribes
		s.listen()
		s.armIdleRelease()
		if s.handle.TakeRestored() {
			s.announceRestart()
		}
	}
}

// listen registers this session with the dispatcher for the notifications of servers over its
// connections. Notifications over another principal's connection are for that principal only. On
// the aggregate endpoint it registers by connection key and not by server, so the number of
// registrations does not grow with the number of servers. The session is told of changed lists once
// for all servers.
func (s *Session) listen() {
	label, server := notification.All, ""
	if s.singleServer() {
		label, server = notification.Any, s.handle.Endpoint().Server
	}
	for _, key := range catalog.Keys(s.tenant.Servers, s.caller()) {
		_ = s.p.Send(s.options.Notices, &notification.Register{
			Method: label, Server: server, Key: key, Handler: notification.Mailbox{Ref: s.p.Self()},
		})
	}
}
