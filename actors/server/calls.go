package server

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/request"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// outgoing is a request whose server is known and whose connection may not be known yet. Most
// requests are sent at once and never reach the heap. Code that keeps an outgoing for later must
// keep a copy: see onHeap.
type outgoing struct {
	d       *session.Deliver
	server  string
	name    string         // server's own name of the tool that is called
	params  jsontext.Value // with the server's own names
	names   names          // zero if the client uses the server's own names
	rewrite func(jsontext.Value) jsontext.Value
	// how often the call was sent before, and ended with the demand that the user visit a page
	attempts    uint32
	internal    bool // a request of the session itself, in the form of the legacy era
	freshView   bool // the session has taken a fresh view for this request
	mayNeedTask bool // the server may refuse the call because the client cannot follow tasks
	needsTask   bool // the server has refused it for that
	expiry      otp.Timer
	binding     func() seal.Binding // see Session.binding
	// size in bytes of the client's original request, if its exchange keeps that too
	originalBytes int
	metaCache     jsontext.Value // cache of meta
	metaParsed    bool           // metaCache is set
}

// onHeap is a copy of the request on the heap, for later use.
func (o *outgoing) onHeap() *outgoing {
	kept := *o
	return &kept
}

// Answers of the catalogue.
type (
	connected struct {
		o   *outgoing
		ref otp.Ref
		err error
	}
	connectExpired struct{ o *outgoing }
	recalled       struct {
		d    *session.Deliver
		kind merge.Kind
		view *catalog.View
		err  error
	}
	looked struct {
		d    *session.Deliver
		view *catalog.View
		err  error
		then func(*session.Deliver)
	}
)

// toServer sends a request to a server over this session's connection to the server.
func (s *Session) toServer(o *outgoing) {
	if n := len(o.params); n >= transport.Large && &o.params[0] != &o.d.Message.Params[0] {
		s.waiting.copied(o.d, n)
	}
	if s.view == nil && repeats(o.d) { // a view is needed for the schema
		s.fresh(o)
		return
	}
	if err := s.mirrored(o.d); err != nil && !o.freshView {
		s.fresh(o)
		return
	} else if err != nil {
		s.refuse(o.d, err)
		return
	}
	if s.continueCall(o) {
		return
	}
	if needs := s.lacks(o.server, o.d.Message.Method); needs != "" {
		s.refuse(o.d, protocol.CapabilityRequired(needs))
		return
	}
	if s.asTask(o) {
		return
	}
	if ref, ok := s.targets[o.server]; ok && ref.Alive() {
		if s.logsEnough(o) {
			s.submit(o, ref)
		} else {
			o := o.onHeap()
			s.ensureLogLevel(o, func() { s.submit(o, ref) })
		}
		return
	}
	delete(s.targets, o.server)
	s.connect(o.onHeap())
}

// connect asks the catalogue for this session's connection to a server.
func (s *Session) connect(o *outgoing) {
	s.waiting.add(o.d)
	otp.CallAsync(s.p, s.options.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: o.server},
		func(ref otp.Ref, err error) any { return connected{o, ref, err} })
	o.expiry.Stop()
	o.expiry = s.p.After(s.timeLeft(o.d), connectExpired{o})
}

// connectExpired refuses a request whose deadline passed before it got a connection.
func (s *Session) connectExpired(o *outgoing) {
	if s.waiting.has(o.d) {
		after := s.p.Now().Sub(s.arrived(o.d)).Round(time.Millisecond)
		s.refuse(o.d, protocol.Timeout(after).WithoutAnswer(o.server, false))
	}
}

func (s *Session) connected(m connected) {
	if !s.waiting.has(m.o.d) { // cancelled meanwhile
		m.o.expiry.Stop()
		return
	}
	if m.err != nil {
		m.o.expiry.Stop()
		s.refuse(m.o.d, m.err)
		return
	}
	s.use(m.o.server, m.ref, m.o.d, func(error) {
		s.ensureLogLevel(m.o, func() { s.submit(m.o, m.ref) })
	})
}

// use stores the address of a connection. It tells the server what the client wants of it, if
// anything, and then goes on with the request that needs the connection. So the server already has
// the client's log level during that call.
func (s *Session) use(server string, ref otp.Ref, d *session.Deliver, then func(refused error)) {
	if s.targets == nil {
		s.targets = map[string]otp.Ref{}
	}
	s.targets[server] = ref
	var servers []string
	if intent := s.subscriptionIntent(server); intent.Level != "" || len(intent.URIs) > 0 {
		servers = []string{server}
	}
	s.sendIntent(d, servers, then)
}

// submit makes the exchange and sends it to the request manager.
func (s *Session) submit(o *outgoing, to otp.Ref) {
	m, limits := o.d.Message, &s.options.Tenant().Limits
	if m.Method == "tools/call" && m.MayHave("task") && jsonedit.Kind(m.Elided(), "task") != 0 {
		// The actor that keeps a task asks the server for it by itself. If no task is kept, the host
		// ignores the member, as a receiver without tasks must (2025-11-25 §basic/utilities/tasks).
		o.params, _ = jsonedit.Delete(o.params, "task")
	}
	c := &call{names: o.names, Exchange: request.Exchange{
		ID:      s.options.NextID.Add(1),
		Session: s.handle.Row(), Principal: s.handle.Endpoint().Principal, Owner: s.handle,
		Tenant: s.handle,
		Client: s.clientInfo(), Version: s.record.Version, Downstream: m.ID,
		Server: o.server, Upstream: to, Method: m.Method, Params: o.params,
		Arrived: s.arrived(o.d), Timeout: limits.CallTimeout, MaxTimeout: limits.CallTimeoutMax,
		Sink: s.sink(o), Rewrite: s.wrap(o), Visit: s.askVisit(o),
		Extended: s.extended(), Transparent: s.singleServer(),
	}}
	x := c.named()
	if o.internal {
		if x.Timeout = limits.RequestTimeout; m.Method != "tasks/get" {
			// tasks/get keeps the client's revision, because it has another form in the legacy era.
			x.Version = protocol.LatestLegacy
		}
	}
	forTask(x, o)
	if x.Version.Has(protocol.PerRequestMeta) {
		x.Level = o.level()
	}
	token, _ := jsonedit.Get(o.meta(), protocol.MetaProgressToken)
	// A slice of the request would keep all of it in memory.
	x.Token, x.ExtraBytes = token.Clone(), o.originalBytes
	if err := s.subscribing(o, x.ID); err != nil {
		s.refuse(o.d, err)
		return
	}
	s.p.Check() // before shared state refers to the exchange
	x.Count(s.counted(o.d))
	o.expiry.Stop() // the timer would keep a large request alive for as long as a call may take
	s.handle.Calls().Add(x)
	if err := s.p.Pass(s.options.Requests, x.Submit()); err != nil {
		x.Settle(request.Outcome{Ending: request.Refused, Err: s.overloaded(o)})
	}
}

// counted hands over the quota reservation of a request. It is nil if the request has none.
func (s *Session) counted(d *session.Deliver) *quota.Reservation {
	if waited := s.waiting.take(d); waited != nil {
		return waited
	}
	return d.TakeReservation()
}

// overloaded explains why the request manager accepts no request: it is overloaded, or its tenant
// is down.
func (s *Session) overloaded(o *outgoing) error {
	if down := s.handle.Down(); down != nil {
		return down.EndedBeforeAnswer(o.server, false)
	}
	return protocol.Overloaded("tenant", time.Second)
}

// timeLeft is the time until the deadline of a request.
func (s *Session) timeLeft(d *session.Deliver) time.Duration {
	return max(0, s.arrived(d).Add(s.options.Tenant().Limits.CallTimeout).Sub(s.p.Now()))
}

// arrived is when a request came. For a request of the host itself it is the current time.
func (s *Session) arrived(d *session.Deliver) time.Time {
	if d.Arrived.IsZero() {
		return s.p.Now()
	}
	return d.Arrived
}

// updateListen tells the handle whether this actor still needs to hear of the end of every call.
func (s *Session) updateListen() {
	s.p.Check() // a replaced incarnation must not undo the setting of its successor
	s.handle.ReportCallEnds(len(s.asked)+len(s.oldConnections)+len(s.levels) > 0)
}

// done handles the end of a call.
func (s *Session) done(m request.Done) {
	defer s.updateListen()
	s.callEnded(m.Exchange.ID, m.Failed)
	s.detachOld()
	s.releaseLogLevel(m.Exchange.Server)
	its := func(exchange uint64) bool { return exchange == m.Exchange.ID }
	switch {
	case m.Exchange.Method != "resources/subscribe":
	case m.Failed:
		s.unsubscribed(func(u session.Subscription) bool { return its(u.Asking) })
	default:
		s.markSubscribed(its)
	}
}
