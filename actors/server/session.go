// Package server holds the downstream session: the actor that is an MCP server towards one client.
// It keeps the client to the handshake, decides which server a request is for, and passes on what
// servers ask of the client. It writes to no socket and to no server itself: a transport hands it
// messages and sinks, the request manager carries its calls.
package server

import (
	"io"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/held"
	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/actors/task"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	lifecycle "mcpd/protocol/session"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Options are what the sessions of one tenant share. They are not changed once a session has them.
type Options struct {
	Tenant   func() *tenant.Tenant // as it is configured now
	Versions otp.Ref               // core/protocol_version
	Requests otp.Ref               // the tenant's request manager
	Catalog  otp.Ref
	Notices  otp.Ref // the tenant's notification dispatcher
	NextID   *atomic.Uint64
	// HeldCalls is the pool of calls that wait for their clients, and HeldCall finds one by its
	// row.
	HeldCalls func() otp.Ref
	HeldCall  func(row string) (otp.Ref, bool)
	Held      *held.Options
	// Tasks is the pool of tasks that the host keeps, Task finds one by its row, and TaskIndex
	// lists them.
	Tasks     func() otp.Ref
	Task      func(row string) (otp.Ref, bool)
	TaskIndex *task.Index
	Self      protocol.Implementation // who the host says it is
	// what the tenant keeps, which says whether calls and tasks may begin
	Kept   *quota.Account
	Failed func(code int64) // counts an error that the client is sent
	Emit   telemetry.Sink
	Random io.Reader // where the ids of tasks come from; nil is crypto/rand
}

// Session is the behaviour of one downstream session.
type Session struct {
	otp.Base
	o *Options
	h *session.Handle
	p *otp.Process

	tenant *tenant.Tenant // as it was configured when the servers were looked at last
	// connections that others took the place of, and that this session has calls on the way to
	leaving []otp.Ref
	silence silence
	life    *lifecycle.Lifecycle
	timer   otp.Timer
	// while a message is handled: of the aggregate, as it was last looked at
	view    *catalog.View
	seen    *catalog.Handle // leads to the same, as long as the catalogue keeps it
	record  *session.Record // nil before the handshake
	passed  passed          // the gate
	opening bool            // initialize is being answered
	waiting *waiting
	targets map[string]otp.Ref // connections in use, by server
	// log level that requests which stand alone want of a server, by its name
	levels  map[string]string
	listens map[transport.Sink]*listen
	asked   map[jsonrpc.ID]*asked
	// see asker
	info *protocol.Implementation
}

// New makes the actor of a session. After a crash the handle has what the previous one had
// negotiated.
func New(o *Options, args session.Args) *Session { return &Session{o: o, h: args.Handle} }

// Receive handles one message. Between two messages the session keeps no view: after changes of the
// lists there would be another one for each session.
func (s *Session) Receive(_ *otp.Process, msg any) error {
	s.view = s.seen.View()
	err := s.receive(msg)
	s.view = nil
	return err
}

// saw takes note of a view that was asked for.
func (s *Session) saw(v *catalog.View) { s.view, s.seen = v, v.Handle() }

func (s *Session) receive(msg any) error {
	switch m := msg.(type) {
	case *session.Deliver:
		s.deliver(m)
		m.Taken()
	case request.Done:
		s.done(m)
	case *notification.Notice:
		s.notice(m)
	case *session.Abandoned:
		s.abandoned(m.Out)
	case inquired:
		s.inquired(m)
	case delegated:
		s.delegated(m)
	case kept:
		s.kept(m)
	case *insisted:
		s.insisted(m)
	case *task.Changed:
		s.taskChanged(m)
	case pollDue:
		s.pollTask(m.w)
	case *client.Question:
		s.question(m)
	case client.Forgotten:
		s.forgotten(m)
	case *client.Withdrawn:
		s.withdrawn(m)
	case *client.Completed:
		s.completed(m)
	case askExpired:
		s.askExpired(m.id)
	case silenceDue:
		s.silent()
	case session.Back:
		s.back()
	case catalog.Introduced:
		s.introducedTo(m)
	case negotiated:
		s.negotiated(m)
	case introduced:
		s.introduced(m)
	case connected:
		s.connected(m)
	case connectExpired:
		s.connectExpired(m.o)
	case told:
		s.told(m)
	case resumed:
		if m.err == nil {
			s.use(m.server, m.ref, nil, func(error) {})
		}
	case recalled:
		s.recalled(m)
	case looked:
		s.looked(m)
	case anew:
		s.anew(m.o)
	case written:
		s.written(m)
	case wished:
		s.wished(m)
	case wishExpired:
		s.goOn(m.w, nil)
	case session.Stop:
		s.stop()
	case session.HangUp:
		s.stop()
		s.hangUp()
	case session.Reconfigured:
		s.reconfigured()
	case *session.Expired:
		return otp.ErrShutdown
	case initExpired:
		s.expired()
	}
	return nil
}

// deliver handles one message of the client.
func (s *Session) deliver(d *session.Deliver) {
	switch d.Message.Kind() {
	case jsonrpc.KindRequest:
		s.request(d)
	case jsonrpc.KindNotification:
		s.notified(d.Message)
	default:
		s.answered(d.Message)
	}
}

// refuse answers a request here, with an error.
func (s *Session) refuse(d *session.Deliver, err error) {
	s.p.Check()
	s.waiting.remove(d)
	err = s.h.Explain(err)
	m := request.Failure(d.Message.ID, err, s.version())
	s.o.Failed(m.Error.Code)
	d.Out.Finish(m)
	if protocol.Theirs(err) { // the server has answered, and we refuse nothing
		return
	}
	s.o.Emit(request.Rejected(s.where(), d.Message.Method, d.Message.Params, d.Out, err, m.Error))
}

// answer answers a request here, with a result.
func (s *Session) answer(d *session.Deliver, result jsontext.Value) {
	s.p.Check()
	s.waiting.remove(d)
	d.Out.Finish(jsonrpc.Response(d.Message.ID, result))
}

// store keeps what the next actor of this session must know.
func (s *Session) store(change func(*session.Record)) {
	r := *s.record
	change(&r)
	s.record = &r
	s.save(&r)
}

// save has the session's next actor know a record.
func (s *Session) save(r *session.Record) {
	s.p.Check()
	s.h.Store(r)
}

// push sends the client a message that belongs to no exchange.
func (s *Session) push(m jsonrpc.Message) error {
	s.p.Check()
	return s.h.Push(m)
}

func (s *Session) where() telemetry.Where {
	ep := s.h.Endpoint()
	return telemetry.Where{Tenant: ep.Tenant, Server: ep.Server, Session: s.h.Row()}
}
