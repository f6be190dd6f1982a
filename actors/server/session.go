// Package server holds the downstream session: the actor that is an MCP server towards one client. It keeps the client to the
// handshake, decides which server a request is for, and passes on what servers ask of the client. It writes to no socket and to no
// server itself: a transport hands it messages and sinks, the request manager carries its calls.
package server

import (
	"errors"
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
	// HeldCalls is the pool of calls that wait for their clients, and HeldCall finds one by its row.
	HeldCalls func() otp.Ref
	HeldCall  func(row string) (otp.Ref, bool)
	Held      *held.Options
	// Tasks is the pool of tasks that the host keeps, Task finds one by its row, and TaskIndex lists them.
	Tasks     func() otp.Ref
	Task      func(row string) (otp.Ref, bool)
	TaskIndex *task.Index
	Self      protocol.Implementation // who the host says it is
	Kept      *quota.Account          // what the tenant keeps, which says whether calls and tasks may begin
	Failed    func(code int64)        // counts an error that the client is sent
	Emit      telemetry.Sink
	Random    io.Reader // where the ids of tasks come from; nil is crypto/rand
}

// Session is the behaviour of one downstream session.
type Session struct {
	otp.Base
	o *Options
	h *session.Handle
	p *otp.Process

	tenant  *tenant.Tenant // as it was configured when the servers were looked at last
	leaving []otp.Ref      // connections that others took the place of, and that this session has calls on the way to
	life    *lifecycle.Lifecycle
	timer   otp.Timer
	view    *catalog.View   // while a message is handled: of the aggregate, as it was last looked at
	seen    *catalog.Handle // leads to the same, as long as the catalogue keeps it
	record  *session.Record // nil before the handshake
	opening bool            // initialize is being answered
	waiting *waiting
	targets map[string]otp.Ref // connections in use, by server
	levels  map[string]string  // log level that requests which stand alone want of a server, by its name
	listens map[transport.Sink]*listen
	asked   map[jsonrpc.ID]*asked
}

// New makes the actor of a session. After a crash the handle has what the previous one had negotiated.
func New(o *Options, args session.Args) *Session { return &Session{o: o, h: args.Handle} }

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
	s.life = lifecycle.NewServer(p.Now(), lifecycle.Options{Timeout: s.tenant.Limits.SessionInit, Unordered: s.h.Streamed()})
	s.timer = p.After(s.life.Deadline().Sub(p.Now()), initExpired{})
	if s.record = s.h.Record(); s.record == nil {
		return nil
	}
	if err := s.enter(lifecycle.Greet); err != nil {
		return err
	}
	// Whoever was told of the handshake is taken to have confirmed it. The actor before this one may have crashed of that very message, which no
	// client sends twice; one that has yet to send it may.
	s.resume()
	return s.enter(lifecycle.Confirm)
}

// resume connects anew to the servers from which the client wants to hear of resources. They may have forgotten it meanwhile, so each is
// told all that the client wants.
func (s *Session) resume() {
	s.agreed(func(exchange uint64) bool { return !s.h.Calls().Has(exchange) }) // their end was told to the actor before this one
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
				Where: s.where(), Side: "downstream", From: e.Transition.From.String(), To: e.Transition.To.String(),
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

// close ends the session for good; its end comes back as Expired.
func (s *Session) close(why error) {
	reason := telemetry.ClosedNormally
	if errors.Is(why, lifecycle.ErrInitializationTimeout) {
		reason = telemetry.ClosedUninitialized
	}
	s.h.End(reason)
}

// Terminate lets go of everything this session has asked of others. Its questions end with it. Its exchanges do so only with the session
// itself: otherwise another actor follows, and their sinks outlive this one.
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
	s.o.Emit(telemetry.Rejected{Where: s.where(), Reason: protocol.ConditionOf(err).String(), Method: d.Message.Method})
}

// stop refuses what waits, because the host is about to stop. An agreed handshake is being written down, and answered then.
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

// answer answers a request here, with a result.
func (s *Session) answer(d *session.Deliver, result jsontext.Value) {
	s.p.Check()
	s.waiting.remove(d)
	d.Out.Finish(jsonrpc.Response(d.Message.ID, result))
}

// version is the revision to answer in: the negotiated one, or the newest that has a handshake.
func (s *Session) version() protocol.Version {
	if s.record != nil {
		return s.record.Version
	}
	return protocol.LatestLegacy
}

// caller is this session as the catalogue knows it.
func (s *Session) caller() catalog.Caller {
	ep := s.h.Endpoint()
	c := catalog.Caller{Session: s.h.Row(), Ref: s.p.Self(), Principal: ep.Principal, Server: ep.Server}
	if s.record != nil {
		c.Capabilities, c.Info, c.Modern, c.Peer = s.record.Capabilities, s.record.Client, s.modern(), s.h.IsPeer()
		s.withhold(&c)
	}
	return c
}

// withhold takes from what servers are told of a caller what its principal has no room for, and the
// extensions whose methods it has no way to use: those of which the list of all servers knows nothing.
func (s *Session) withhold(c *catalog.Caller) {
	f := c.Capabilities.Fingerprint()
	tell := f
	if !s.transparent() {
		tell &^= protocol.OfOthers
	}
	c.Withheld = f &^ s.h.Tell(tell)
}

// modern reports whether the requests of this session stand alone: nobody has opened it, and it may serve many clients.
func (s *Session) modern() bool {
	return s.record != nil && s.record.Version.Has(protocol.PerRequestMeta)
}

// transparent reports whether the client sees one server as it is, instead of all as one.
func (s *Session) transparent() bool { return s.h.Endpoint().Server != "" }

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
