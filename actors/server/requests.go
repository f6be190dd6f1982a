package server

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// route says where a method goes on the aggregate endpoint. A transparent endpoint forwards every
// method that the host does not answer itself.
type route uint8

const (
	byList route = iota // one merged list of all servers
	byName              // to the server that owns the name in params
	level               // stored here, and sent to every server in use
	here                // answered or stored here
	byTask              // to the server that has the task in params
)

// routes is the table of the methods that clients may call.
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

// continuesWork reports whether a request starts no new work, but continues or ends work in
// progress.
func continuesWork(m jsonrpc.Message) bool {
	return routes[m.Method].route == byTask || m.Method == "resources/unsubscribe" || mrtr.Continues(m)
}

// request admits one request and routes it.
func (s *Session) request(d *session.Deliver) {
	m, err := protocol.AdmitMeta(d.Message)
	d.Message = m
	// A listen has no deadline, and another actor may have received it long ago.
	if d.Arrived.IsZero() || m.Method == "subscriptions/listen" {
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
	if err := s.gateCache.check(s.record, m, s.gate); err != nil {
		s.refuse(d, err)
		return
	}
	s.dispatch(d)
}

// gateCache caches the last method that the gate allowed, and the record for which it did. Besides
// these two the gate checks only whether params are an object. A record never changes: a new
// declaration of the client or its servers is in a new record.
type gateCache struct {
	method string
	by     *session.Record
}

// check asks the gate whether a request may pass. One decision serves many calls.
func (p *gateCache) check(r *session.Record, m jsonrpc.Message, gate func() protocol.Gate) error {
	if now := (gateCache{m.Method, r}); *p != now || m.Params.Kind() == '[' {
		if err := gate().Check(protocol.Client, m.Method, m.Params); err != nil {
			return err
		}
		*p = now
	}
	return nil
}

// dispatch routes a request that passed the gate.
func (s *Session) dispatch(d *session.Deliver) {
	m, limits := d.Message, &s.options.Tenant().Limits
	bound := limits.MaxSessionPending
	if s.handle.IsPeer() { // a peer's requests are those of many clients
		bound = limits.MaxPending
	}
	r, ok := routes[m.Method]
	err := protocol.CheckParams(m)
	if err == nil {
		err = merge.CheckSubscribedURI(m.Method, m.Params)
	}
	var full *quota.Refusal
	if !continuesWork(m) {
		full = s.options.Account.CheckAdmit(len(m.Params), d.HasReservation() || s.waiting.has(d),
			s.options.TaskIndex.Spare)
	}
	switch {
	case !ok && !s.singleServer():
		s.refuse(d, protocol.MethodNotFound(m.Method))
	case err != nil:
		s.refuse(d, err)
	case full != nil:
		s.refuse(d, full.ClientError())
	case s.handle.Calls().Len()+s.waiting.len()-len(s.listens) >= bound:
		s.refuse(d, protocol.Overloaded("session", time.Second))
	case !ok: // allowed by the gate, so it belongs to an extension
		s.forward(d)
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
	case r.route == level && s.singleServer() && !s.record.Offered.Has("logging"):
		s.forward(d) // The server has declared no logging, so only its answer matters.
	case r.route == level:
		s.setLevel(d)
	case s.singleServer() && r.route == byList:
		s.listAlone(d, r.kind)
	case s.singleServer():
		s.forward(d)
	case r.route == byList:
		s.list(d, r.kind)
	default:
		s.address(d)
	}
}

// lacks is the capability that the tenant's policy requires of clients for a method, and that this
// client has not declared. The policy may depend on the server; server is empty for none.
func (s *Session) lacks(server, method string) string {
	if needs, ok := s.options.Tenant().Required(server, method); ok &&
		!s.record.Capabilities.Has(needs) {
		return needs
	}
	return ""
}

// gate checks methods against the terms of this session.
func (s *Session) gate() protocol.Gate {
	return protocol.Gate{
		Version: s.record.Version, Client: s.record.Capabilities, Server: s.record.Offered,
		PassUndeclared: s.singleServer(), Withheld: s.record.Withheld,
	}
}

// notified handles a notification of the client. It drops one that the client may not send.
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
			for _, target := range sortedmap.Sorted(s.targets) {
				_ = s.p.Send(target, &client.ClientNotification{Method: m.Method, Params: m.Params})
			}
		}
	default:
		if s.forwardsNotification(m) {
			s.forwardNotification(m)
		}
	}
}

// cancel ends the call with the client's request id. If several calls in flight have that id, as
// with pooled clients, the intended one is unknown, and none is cancelled. Needless work is cheaper
// than the lost answer of another call. A receiver may ignore what it cannot cancel (2025-11-25
// §basic/utilities/cancellation).
func (s *Session) cancel(params jsontext.Value) {
	raw, ok := jsonedit.Get(params, "requestId")
	if !ok {
		return
	}
	found := s.handle.Calls().Find(string(raw))
	waiting := s.waiting.find(string(raw))
	switch {
	case len(found)+len(waiting) != 1:
	case len(found) == 1:
		s.p.Check()
		if s.handle.Calls().Cancel(found[0]) {
			_ = s.p.Send(s.options.Requests, request.NewCancel(s.options.Requests, found[0]))
		}
	default: // not submitted yet, and no longer needed
		s.waiting.remove(waiting[0])
		waiting[0].Out.Finish(jsonrpc.Message{})
	}
}
