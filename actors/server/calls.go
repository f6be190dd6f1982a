package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// outgoing is a request whose server is known and whose connection may not be.
type outgoing struct {
	d       *session.Deliver
	server  string
	params  jsontext.Value // with the server's own names
	rewrite func(jsontext.Value) jsontext.Value
}

type (
	connected struct {
		o   *outgoing
		ref otp.Ref
		err error
	}
	resolved struct {
		d      *session.Deliver
		target catalog.Target
		err    error
		then   func(catalog.Target)
	}
)

// toServer sends a request to a server over this session's connection to it.
func (s *Session) toServer(d *session.Deliver, server string, params jsontext.Value, rewrite func(jsontext.Value) jsontext.Value) {
	o := &outgoing{d, server, params, rewrite}
	if ref, ok := s.targets[server]; ok && ref.Alive() {
		s.submit(o, ref)
		return
	}
	delete(s.targets, server)
	otp.CallAsync(s.p, s.o.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: server},
		func(ref otp.Ref, err error) any { return connected{o, ref, err} })
}

func (s *Session) connected(m connected) {
	if m.err != nil {
		s.refuse(m.o.d, m.err)
		return
	}
	if s.targets == nil {
		s.targets = map[string]otp.Ref{}
	}
	s.targets[m.o.server] = m.ref
	s.submit(m.o, m.ref)
}

// submit makes the exchange and hands it to the request manager.
func (s *Session) submit(o *outgoing, to otp.Ref) {
	m, limits := o.d.Message, s.o.Tenant.Limits
	x := &request.Exchange{
		ID: s.o.NextID.Add(1), Session: s.h.Row(), Owner: s.p.Self(), Version: s.record.Version, Downstream: m.ID,
		Server: o.server, Upstream: to, Method: m.Method, Params: o.params,
		Timeout: limits.CallTimeout, MaxTimeout: limits.CallTimeoutMax,
		Sink: o.d.Out, Rewrite: o.rewrite,
	}
	x.Token, _ = splice.Get(m.Params, "_meta", "progressToken")
	if s.calls == nil {
		s.calls = map[uint64]*call{}
	}
	s.calls[x.ID] = &call{x: x, id: m.ID, server: o.server}
	msg := &request.Submit{Exchange: x}
	if err := s.o.Requests.Send(msg); err != nil {
		delete(s.calls, x.ID)
		msg.Fail(overloaded(err))
	}
}

// overloaded says that the tenant's request manager takes no more.
func overloaded(error) error { return protocol.Overloaded("tenant", 0) }

// byName sends tools/call or prompts/get to the server that the name belongs to. A name that was shortened is looked up.
func (s *Session) byName(d *session.Deliver, kind client.Kind) {
	name, ok := splice.GetString(d.Message.Params, "name")
	if !ok {
		s.refuse(d, protocol.InvalidParams("params.name is missing or not a string"))
		return
	}
	send := func(t catalog.Target) {
		params, err := splice.Set(d.Message.Params, splice.Quote(t.Name), "name")
		if err != nil {
			s.refuse(d, protocol.InvalidParams("params.name cannot be read"))
			return
		}
		s.toServer(d, t.Server, params, merge.Rewriter(t.Server))
	}
	if server, own, sure := merge.SplitName(name); sure && s.knows(server) {
		send(catalog.Target{Server: server, Name: own})
		return
	}
	s.resolve(d, kind, name, send)
}

// knows reports whether the tenant has such a server.
func (s *Session) knows(server string) bool {
	_, ok := s.o.Tenant.Server(server)
	return ok
}

// resolve asks the catalogue where a name or URI leads.
func (s *Session) resolve(d *session.Deliver, kind client.Kind, name string, then func(catalog.Target)) {
	otp.CallAsync(s.p, s.o.Catalog, catalog.ResolveRequest{Caller: s.caller(), Kind: kind, Name: name},
		func(t catalog.Target, err error) any { return resolved{d, t, err, then} })
}

func (s *Session) resolved(m resolved) {
	if m.err != nil {
		s.refuse(m.d, m.err)
		return
	}
	m.then(m.target)
}

// byURI sends a request about a resource to the server that has it.
func (s *Session) byURI(d *session.Deliver, kind client.Kind) {
	uri, ok := splice.GetString(d.Message.Params, "uri")
	if !ok {
		s.refuse(d, protocol.InvalidParams("params.uri is missing or not a string"))
		return
	}
	s.resolve(d, kind, uri, func(t catalog.Target) {
		params, err := splice.Set(d.Message.Params, splice.Quote(t.Name), "uri")
		if err != nil {
			s.refuse(d, protocol.InvalidParams("params.uri cannot be read"))
			return
		}
		s.subscribed(d.Message.Method, uri)
		s.toServer(d, t.Server, params, merge.Rewriter(t.Server))
	})
}

// byRef sends completion/complete to the server that the prompt or template belongs to.
func (s *Session) byRef(d *session.Deliver) {
	member, kind := "name", client.Prompts
	if t, _ := splice.GetString(d.Message.Params, "ref", "type"); t == "ref/resource" {
		member, kind = "uri", client.Templates
	}
	name, ok := splice.GetString(d.Message.Params, "ref", member)
	if !ok {
		s.refuse(d, protocol.InvalidParams("params.ref."+member+" is missing or not a string"))
		return
	}
	s.resolve(d, kind, name, func(t catalog.Target) {
		params, err := splice.Set(d.Message.Params, splice.Quote(t.Name), "ref", member)
		if err != nil {
			s.refuse(d, protocol.InvalidParams("params.ref cannot be read"))
			return
		}
		s.toServer(d, t.Server, params, nil)
	})
}

type listed struct {
	d    *session.Deliver
	page jsontext.Value
	err  error
}

// list answers one page of a list of all servers as one.
func (s *Session) list(d *session.Deliver, kind client.Kind) {
	cursor, _ := splice.Get(d.Message.Params, "cursor")
	otp.CallAsync(s.p, s.o.Catalog, catalog.ListRequest{Caller: s.caller(), Kind: kind, Cursor: cursor},
		func(page jsontext.Value, err error) any { return listed{d, page, err} })
}

func (s *Session) listed(m listed) {
	if m.err != nil {
		s.refuse(m.d, m.err)
		return
	}
	m.d.Out.Finish(jsonrpc.Response(m.d.Message.ID, m.page))
}
