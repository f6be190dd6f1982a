package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// route says where a method goes on the aggregate. A transparent endpoint sends everything but what the host answers to its server.
type route uint8

const (
	nowhere  route = iota // answered here
	byList                // one list of all servers
	byName                // to the server that the name in params belongs to
	byURI                 // to the server that the uri in params belongs to
	byRef                 // to the server that completion's reference belongs to
	everyone              // to each server that has the capability
)

// routes is the table of what clients may ask, by method.
var routes = map[string]struct {
	route route
	kind  client.Kind
	call  bool // runs something at the server: bounded by call_timeout instead of request_timeout
}{
	"ping":                     {nowhere, 0, false},
	"tools/list":               {byList, client.Tools, false},
	"tools/call":               {byName, client.Tools, true},
	"prompts/list":             {byList, client.Prompts, false},
	"prompts/get":              {byName, client.Prompts, true},
	"resources/list":           {byList, client.Resources, false},
	"resources/templates/list": {byList, client.Templates, false},
	"resources/read":           {byURI, client.Resources, true},
	"resources/subscribe":      {byURI, client.Resources, true},
	"resources/unsubscribe":    {byURI, client.Resources, true},
	"completion/complete":      {byRef, client.Prompts, true},
	"logging/setLevel":         {everyone, 0, false},
}

// request admits one request and sends it on its way.
func (s *Session) request(d *session.Deliver) {
	m := d.Message
	if m.Method == "initialize" {
		s.initialize(d)
		return
	}
	if m.Method == "ping" {
		d.Out.Finish(jsonrpc.Response(m.ID, nil))
		return
	}
	if s.record == nil {
		s.refuse(d, protocol.NotInitialized(s.life.Phase().String(), protocol.Action(m.Method)))
		return
	}
	s.ready()
	if err := s.gate().Check(protocol.Client, m.Method, m.Params); err != nil {
		s.refuse(d, err)
		return
	}
	r, ok := routes[m.Method]
	if !ok {
		s.refuse(d, protocol.MethodNotFound(m.Method))
		return
	}
	if len(s.calls) >= s.o.Tenant.Limits.MaxSessionPending {
		s.refuse(d, protocol.Overloaded("session", 0))
		return
	}
	if s.transparent() {
		s.toServer(d, s.h.Endpoint().Server, m.Params, nil)
		return
	}
	switch r.route {
	case byList:
		s.list(d, r.kind)
	case byName:
		s.byName(d, r.kind)
	case byURI:
		s.byURI(d, r.kind)
	case byRef:
		s.byRef(d)
	case everyone:
		s.setLevel(d)
	}
}

// gate is what this session agreed on.
func (s *Session) gate() protocol.Gate {
	return protocol.Gate{Version: s.record.Version, Client: s.record.Capabilities, Server: s.record.Offered, Required: s.o.Required(s.h.Endpoint().Server)}
}

// notified handles a notification of the client. One that it may not send is dropped.
func (s *Session) notified(m jsonrpc.Message) {
	if s.record == nil {
		return
	}
	switch m.Method {
	case "notifications/initialized":
		s.ready()
	case "notifications/cancelled":
		s.cancel(m.Params)
	case "notifications/progress":
		s.answerProgress(m)
	case "notifications/roots/list_changed":
		if s.gate().Check(protocol.Client, m.Method, m.Params) == nil {
			for _, target := range s.targets {
				_ = target.Send(&client.Tell{Method: m.Method, Params: m.Params})
			}
		}
	}
}

// cancel ends the call with the client's id. When several of its calls in flight have that id, nobody can tell which is meant, and none
// is ended.
func (s *Session) cancel(params jsontext.Value) {
	raw, ok := splice.Get(params, "requestId")
	if !ok {
		return
	}
	var found []uint64
	for id, c := range s.calls {
		if c.id.Raw() == string(raw) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		return
	}
	reason, _ := splice.GetString(params, "reason")
	_ = s.o.Requests.Send(&request.Cancel{ID: found[0], Reason: reason})
}
