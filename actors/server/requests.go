package server

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/splice"
)

// route says where a method goes on the aggregate. A transparent endpoint sends all but what the host answers to its server.
type route uint8

const (
	byList route = iota // one list of all servers
	byName              // to the server that what params name belongs to
	level               // kept here, and told to every server in use
	here                // answered or kept here
	byTask              // to the server that has the task which params name
)

// routes is the table of what clients may ask, by method.
var routes = map[string]struct {
	route route
	kind  merge.Kind
}{
	"tools/list":               {byList, merge.Tools},
	"tools/call":               {byName, merge.Tools},
	"prompts/list":             {byList, merge.Prompts},
	"prompts/get":              {byName, merge.Prompts},
	"resources/list":           {byList, merge.Resources},
	"resources/templates/list": {byList, merge.Templates},
	"resources/read":           {byName, merge.Resources},
	"resources/subscribe":      {byName, merge.Resources},
	"resources/unsubscribe":    {byName, merge.Resources},
	"completion/complete":      {byName, merge.Prompts},
	"logging/setLevel":         {level, 0},
	"server/discover":          {here, 0},
	"tasks/get":                {byTask, 0},
	"tasks/update":             {byTask, 0},
	"tasks/cancel":             {byTask, 0},
	"tasks/result":             {byTask, 0},
	"tasks/list":               {here, 0},
	"subscriptions/listen":     {here, 0},
}

// goesOn reports whether a request begins nothing, but goes on with what is in hand or ends it.
func goesOn(m jsonrpc.Message) bool {
	return routes[m.Method].route == byTask || m.Method == "resources/unsubscribe" || mrtr.Continues(m)
}

// request admits one request and sends it on its way.
func (s *Session) request(d *session.Deliver) {
	m, err := protocol.AdmitMeta(d.Message)
	d.Message = m
	if d.Arrived.IsZero() || m.Method == "subscriptions/listen" { // which has no deadline, and may have come to another actor long ago
		d.Arrived = s.p.Now()
	}
	if err != nil {
		s.refuse(d, err)
		return
	}
	if s.modern() {
		s.standalone(d)
		return
	}
	effects, err := s.life.Admit(s.p.Now(), m.Method)
	if err != nil {
		s.refuse(d, err)
		return
	}
	s.perform(effects)
	switch m.Method {
	case "initialize":
		s.initialize(d)
		return
	case "ping":
		s.answer(d, nil)
		return
	}
	if err := s.passed.check(s.record, m, s.gate); err != nil {
		s.refuse(d, err)
		return
	}
	s.dispatch(d)
}

// passed is the method that the gate let this session's client call last, and the record by which it
// did. The gate goes by nothing else but whether params are an object, and a record is never changed:
// whatever the client or its servers declare anew is in another.
type passed struct {
	method string
	by     *session.Record
}

// check is whether the gate lets a request pass. It is decided once for many calls.
func (p *passed) check(r *session.Record, m jsonrpc.Message, gate func() protocol.Gate) error {
	if now := (passed{m.Method, r}); *p != now || m.Params.Kind() == '[' {
		if err := gate().Check(protocol.Client, m.Method, m.Params); err != nil {
			return err
		}
		*p = now
	}
	return nil
}

// dispatch sends a request that this session may make to where it goes.
func (s *Session) dispatch(d *session.Deliver) {
	m, limits := d.Message, &s.o.Tenant().Limits
	bound := limits.MaxSessionPending
	if s.h.IsPeer() { // many clients' requests
		bound = limits.MaxPending
	}
	r, ok := routes[m.Method]
	err := protocol.CheckParams(m)
	if err == nil {
		err = merge.CheckSubscribedURI(m.Method, m.Params)
	}
	var full *quota.Refusal
	if !goesOn(m) {
		full = s.o.Kept.Admits(len(m.Params), d.Counts() || s.waiting.has(d), s.o.TaskIndex.Spare)
	}
	switch {
	case !ok && !s.transparent():
		s.refuse(d, protocol.MethodNotFound(m.Method))
	case err != nil:
		s.refuse(d, err)
	case full != nil:
		s.refuse(d, full.Told())
	case s.h.Calls().Len()+s.waiting.len()-len(s.listens) >= bound:
		s.refuse(d, protocol.Overloaded("session", time.Second))
	case !ok: // the gate has let it in: it is of an extension
		s.through(d)
	case (r.route == here || r.route == level) && s.lacks("", m.Method) != "":
		s.refuse(d, protocol.CapabilityRequired(s.lacks("", m.Method)))
	case m.Method == "server/discover":
		s.discover(d)
	case m.Method == "subscriptions/listen":
		s.subscribe(d)
	case m.Method == "tasks/list":
		s.listTasks(d)
	case r.route == byTask:
		s.task(d)
	case r.route == level && s.transparent() && !s.record.Offered.Has("logging"):
		s.through(d) // which has no log that anybody hears: only its answer counts
	case r.route == level:
		s.setLevel(d)
	case s.transparent() && r.route == byList:
		s.listAlone(d, r.kind)
	case s.transparent():
		s.through(d)
	case r.route == byList:
		s.list(d, r.kind)
	default:
		s.address(d)
	}
}

// lacks is the capability that the tenant's policy asks of clients for a method, of a server or of none, and that this one did not declare.
func (s *Session) lacks(server, method string) string {
	if needs, ok := s.o.Tenant().Required(server, method); ok && !s.record.Capabilities.Has(needs) {
		return needs
	}
	return ""
}

// gate is what this session agreed on.
func (s *Session) gate() protocol.Gate {
	return protocol.Gate{
		Version: s.record.Version, Client: s.record.Capabilities, Server: s.record.Offered,
		Asks: s.transparent(), Withheld: s.record.Withheld,
	}
}

// notified handles a notification of the client. One that it may not send is dropped.
func (s *Session) notified(m jsonrpc.Message) {
	effects, err := s.life.Admit(s.p.Now(), m.Method)
	if err != nil {
		return
	}
	s.perform(effects)
	if s.record == nil {
		return
	}
	switch m.Method {
	case "notifications/cancelled":
		s.cancel(m.Params)
	case "notifications/progress":
		s.answerProgress(m)
	case "notifications/roots/list_changed":
		if s.gate().Check(protocol.Client, m.Method, m.Params) == nil {
			for _, target := range order.Of(s.targets) {
				_ = s.p.Send(target, &client.Tell{Method: m.Method, Params: m.Params})
			}
		}
	default:
		if s.passes(m) {
			s.pass(m)
		}
	}
}

// cancel ends the call with the client's id. When several of its calls in flight have that id, as pooled clients send them, nobody can tell
// which is meant, and none is ended: that costs work for nothing, to end another's call would cost its answer. A receiver may ignore
// what it cannot cancel (2025-11-25 §basic/utilities/cancellation).
func (s *Session) cancel(params jsontext.Value) {
	raw, ok := splice.Get(params, "requestId")
	if !ok {
		return
	}
	found := s.h.Calls().Find(string(raw))
	waiting := s.waiting.find(string(raw))
	switch {
	case len(found)+len(waiting) != 1:
	case len(found) == 1:
		s.p.Check()
		if s.h.Calls().Cancel(found[0]) {
			_ = s.p.Send(s.o.Requests, request.NewCancel(s.o.Requests, found[0]))
		}
	default: // not on its way yet, and it will not be
		s.waiting.remove(waiting[0])
		waiting[0].Out.Finish(jsonrpc.Message{})
	}
}
