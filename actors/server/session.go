// Package server holds the downstream session: the actor that acts as an MCP server towards one
// client. It enforces the handshake, decides which server a request is for, and passes on what
// servers ask of the client. It writes to no socket and to no server itself. A transport hands it
// messages and sinks, and the request manager carries its calls.
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

// Options are shared by the sessions of one tenant. They do not change once a session has them.
type Options struct {
	Tenant   func() *tenant.Tenant // current configuration
	Versions otp.Ref               // core/protocol_version
	Requests otp.Ref               // the tenant's request manager
	Catalog  otp.Ref
	Notices  otp.Ref // the tenant's notification dispatcher
	NextID   *atomic.Uint64
	// HeldCalls is the pool of calls that wait for their clients. HeldCall finds one by its row.
	HeldCalls func() otp.Ref
	HeldCall  func(row string) (otp.Ref, bool)
	Held      *held.Options
	// Tasks is the pool of tasks that the host keeps. Task finds one by its row, and TaskIndex lists
	// them.
	Tasks     func() otp.Ref
	Task      func(row string) (otp.Ref, bool)
	TaskIndex *task.Index
	Self      protocol.Implementation // how the host identifies itself
	// quota account of the tenant, which says whether calls and tasks may begin
	Account    *quota.Account
	CountError func(code int64) // counts an error that is sent to the client
	Emit       telemetry.Sink
	Random     io.Reader // source of task ids; nil means crypto/rand
}

// Session is the behaviour of one downstream session.
type Session struct {
	otp.Base
	options *Options
	handle  *session.Handle
	p       *otp.Process

	tenant *tenant.Tenant // configuration at the last look at the servers
	// replaced connections over which this session still has calls
	oldConnections []otp.Ref
	silence        idleRelease
	life           *lifecycle.Lifecycle
	timer          otp.Timer
	// last view of the endpoint; nil between messages
	view       *catalog.View
	viewHandle *catalog.Handle // finds view again, while the catalogue keeps it
	record     *session.Record // nil before the handshake
	gateCache  gateCache       // cached decision of the gate
	opening    bool            // initialize is in progress
	waiting    *pendingRequests
	targets    map[string]otp.Ref // connections in use, by server
	// log level that modern requests want of a server, by its name
	levels  map[string]string
	listens map[transport.Sink]*listen
	asked   map[jsonrpc.ID]*openQuestion
	// see clientInfo
	info *protocol.Implementation
}

// New makes the actor of a session. After a crash the handle has the terms that the previous actor
// negotiated.
func New(o *Options, args session.Args) *Session {
	return &Session{options: o, handle: args.Handle}
}

// Receive handles one message. The session keeps no view between two messages: after list changes,
// each session would otherwise hold an outdated view of its own.
func (s *Session) Receive(_ *otp.Process, msg any) error {
	s.view = s.viewHandle.View()
	err := s.receive(msg)
	s.view = nil
	return err
}

// setView stores a view that was asked for.
func (s *Session) setView(v *catalog.View) { s.view, s.viewHandle = v, v.Handle() }

func (s *Session) receive(msg any) error {
	switch m := msg.(type) {
	case *session.Deliver:
		s.deliver(m)
		m.Seen()
	case request.Done:
		s.done(m)
	case *notification.Notice:
		s.notice(m)
	case *session.Abandoned:
		s.abandoned(m.Out)
	case inquired:
		s.inquired(m)
	case heldCallStarted:
		s.sendWaitingQuestions(m)
	case taskStarted:
		s.taskStarted(m)
	case *taskRequired:
		s.taskRequired(m)
	case *task.Changed:
		s.taskChanged(m)
	case pollDue:
		s.pollTask(m.w)
	case *client.Question:
		s.question(m)
	case client.UsersForgotten:
		s.forgotten(m)
	case *client.Withdrawn:
		s.withdrawn(m)
	case *client.ElicitationCompleted:
		s.completed(m)
	case askExpired:
		s.askExpired(m.id)
	case idleReleaseDue:
		s.releaseIdle()
	case session.ClientBack:
		s.restoreReleased()
	case catalog.Assigned:
		s.introducedTo(m)
	case negotiated:
		s.negotiated(m)
	case introduced:
		s.introduced(m)
	case connected:
		s.connected(m)
	case connectExpired:
		s.connectExpired(m.o)
	case notificationTarget:
		s.sendPending(m)
	case resumed:
		if m.err == nil {
			s.use(m.server, m.ref, nil, func(error) {})
		}
	case recalled:
		s.listViewed(m)
	case looked:
		s.looked(m)
	case repeatCall:
		s.repeatCall(m.o)
	case written:
		s.written(m)
	case intentAnswer:
		s.intentAnswered(m)
	case intentExpired:
		s.proceed(m.w, nil)
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

// refuse answers a request with an error of the host.
func (s *Session) refuse(d *session.Deliver, err error) {
	s.p.Check()
	s.waiting.remove(d)
	err = s.handle.Explain(err)
	m := request.Failure(d.Message.ID, err, s.version())
	s.options.CountError(m.Error.Code)
	d.Out.Finish(m)
	if protocol.FromPeer(err) { // the error is the server's own answer, and no refusal
		return
	}
	s.options.Emit(request.Rejected(s.where(), d.Message.Method, d.Message.Params, d.Out,
		err, m.Error))
}

// answer answers a request with a result of the host.
func (s *Session) answer(d *session.Deliver, result jsontext.Value) {
	s.p.Check()
	s.waiting.remove(d)
	d.Out.Finish(jsonrpc.Response(d.Message.ID, result))
}

// store changes a copy of the record, and keeps it for the next actor of this session.
func (s *Session) store(change func(*session.Record)) {
	r := *s.record
	change(&r)
	s.record = &r
	s.save(&r)
}

// save keeps a record for the session's next actor.
func (s *Session) save(r *session.Record) {
	s.p.Check()
	s.handle.Store(r)
}

// push sends the client a message that belongs to no exchange.
func (s *Session) push(m jsonrpc.Message) error {
	s.p.Check()
	return s.handle.Push(m)
}

func (s *Session) where() telemetry.Where {
	ep := s.handle.Endpoint()
	return telemetry.Where{Tenant: ep.Tenant, Server: ep.Server, Session: s.handle.Row()}
}
