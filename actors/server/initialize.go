package server

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/notification"
	"mcpd/actors/session"
	"mcpd/actors/version"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// AggregateWait is how long initialize on the aggregate waits for servers that are starting. Capabilities and instructions of one that
// comes later are missing from the answer; its lists are not.
const AggregateWait = 2 * time.Second

// handshake is one initialize on its way.
type handshake struct {
	d       *session.Deliver
	client  protocol.Implementation
	caps    protocol.ClientCapabilities
	version protocol.Version
}

type (
	negotiated struct {
		h   *handshake
		v   protocol.Version
		err error
	}
	described struct {
		h   *handshake
		d   catalog.Description
		err error
	}
)

// initialize begins the handshake. Nothing of the session changes before it has succeeded, so a refused client may try again (S0-58).
func (s *Session) initialize(d *session.Deliver) {
	if s.opening || s.record != nil {
		s.refuse(d, protocol.AlreadyInitialized())
		return
	}
	requested, caps, info, err := parseInitialize(d.Message.Params)
	if err != nil {
		s.refuse(d, err)
		return
	}
	s.opening = true
	h := &handshake{d: d, client: info, caps: caps}
	otp.CallAsync(s.p, s.o.Versions, version.NegotiateRequest{
		Requested: requested, Policy: s.o.Policy, Tenant: s.o.Tenant.Name, Session: s.h.Row(),
	}, func(v protocol.Version, err error) any { return negotiated{h, v, err} })
}

// parseInitialize reads the parameters of initialize (S0-12, S0-23).
func parseInitialize(params jsontext.Value) (requested string, caps protocol.ClientCapabilities, info protocol.Implementation, err error) {
	if v, ok := splice.Get(params, "protocolVersion"); ok {
		if requested, ok = splice.GetString(params, "protocolVersion"); !ok {
			return "", caps, info, protocol.InvalidParams("protocolVersion is " + v.Kind().String() + ", not a string")
		}
	}
	raw, _ := splice.Get(params, "capabilities")
	if caps, err = protocol.ParseClientCapabilities(raw); err != nil {
		return "", caps, info, err
	}
	raw, _ = splice.Get(params, "clientInfo")
	info, err = protocol.ParseImplementation(raw)
	return requested, caps, info, err
}

func (s *Session) negotiated(m negotiated) {
	if m.err != nil {
		s.opening = false
		s.refuse(m.h.d, m.err)
		return
	}
	m.h.version = m.v
	caller := s.caller()
	caller.Version, caller.Capabilities = m.v, m.h.caps
	wait := AggregateWait
	if s.transparent() {
		wait = s.o.Tenant.Limits.SessionInit
	}
	otp.CallAsync(s.p, s.o.Catalog, catalog.DescribeRequest{Caller: caller, Wait: wait},
		func(d catalog.Description, err error) any { return described{m.h, d, err} })
}

// described completes the handshake: what was agreed is kept before the client hears of it.
func (s *Session) described(m described) {
	s.opening = false
	if m.err != nil {
		s.refuse(m.h.d, m.err)
		return
	}
	if err := s.life.Initialize(s.p.Now()); err != nil {
		s.refuse(m.h.d, err)
		return
	}
	offered := offer(m.d.Capabilities, m.h.version)
	s.record = &session.Record{Version: m.h.version, Capabilities: m.h.caps, Offered: offered, Client: m.h.client}
	s.h.Store(s.record)
	m.h.d.Out.Finish(jsonrpc.Response(m.h.d.Message.ID, s.result(m.d)))
}

// offer is what of a server's capabilities a client of revision v can be offered through this host. Tasks belong to a connection, so
// the host would have to keep them itself.
func offer(caps protocol.ServerCapabilities, v protocol.Version) protocol.ServerCapabilities {
	return caps.Shape(v).Without("tasks", "extensions."+protocol.ExtensionTasks)
}

// result is the InitializeResult (S0-26). A transparent endpoint shows its server's own name.
func (s *Session) result(d catalog.Description) jsontext.Value {
	server := protocol.Self().Shape(s.record.Version)
	if s.transparent() && len(d.Facts.Server) > 0 {
		if info, err := protocol.ParseImplementation(d.Facts.Server); err == nil {
			server = info.Shape(s.record.Version)
		}
	}
	members := []jsontext.Value{
		jsontext.Value(`"protocolVersion"`), splice.Quote(s.record.Version.String()),
		jsontext.Value(`"capabilities"`), s.record.Offered.Raw(),
		jsontext.Value(`"serverInfo"`), server,
	}
	if d.Instructions != "" {
		members = append(members, jsontext.Value(`"instructions"`), splice.Quote(d.Instructions))
	}
	return splice.Object(members...)
}

// ready ends the handshake. A request that overtakes notifications/initialized over HTTP counts as it.
func (s *Session) ready() {
	if s.record == nil || s.record.Ready || s.life.Initialized(s.p.Now()) != nil {
		return
	}
	s.store(func(r *session.Record) { r.Ready = true })
	s.listen()
}

// listen asks the dispatcher for what servers announce.
func (s *Session) listen() {
	_ = s.o.Notices.Send(&notification.Register{Method: notification.Any, Server: s.h.Endpoint().Server, Handler: notification.Mailbox{Ref: s.p.Self()}})
}
