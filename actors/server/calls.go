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
	"mcpd/protocol/seal"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// outgoing is a request whose server is known and whose connection may not be. Most are sent at once
// and are never on the heap: who keeps one for later keeps a copy, see lasting.
type outgoing struct {
	d         *session.Deliver
	server    string
	name      string         // the server's own, of the tool that is called
	params    jsontext.Value // with the server's own names
	names     names          // zero where they are the server's own
	rewrite   func(jsontext.Value) jsontext.Value
	made      uint32 // how often it was sent before, and ended for want of a visit
	own       bool   // the session itself asks, in the words of the legacy era
	fresh     bool   // what the session knows of the server was looked at anew for this
	mayInsist bool   // its server may refuse it because its client cannot follow tasks
	insisted  bool   // and did
	expiry    otp.Timer
	binding   func() seal.Binding // see Session.binding
	// bytes that its exchange keeps of the request as the client sent it
	beside int
	said   jsontext.Value // see meta
	looked bool           // for that
}

// lasting is the request for who comes back to it later.
func (o *outgoing) lasting() *outgoing {
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

// toServer sends a request to a server over this session's connection to it.
func (s *Session) toServer(o *outgoing) {
	if n := len(o.params); n >= transport.Large && &o.params[0] != &o.d.Message.Params[0] {
		s.waiting.copied(o.d, n)
	}
	if s.view == nil && repeats(o.d) { // the schema is needed
		s.fresh(o)
		return
	}
	if err := s.mirrored(o.d); err != nil && !o.fresh {
		s.fresh(o)
		return
	} else if err != nil {
		s.refuse(o.d, err)
		return
	}
	if s.again(o) {
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
		if s.heard(o) {
			s.submit(o, ref)
		} else {
			o := o.lasting()
			s.logs(o, func() { s.submit(o, ref) })
		}
		return
	}
	delete(s.targets, o.server)
	s.connect(o.lasting())
}

// connect asks the catalogue for this session's connection to a server.
func (s *Session) connect(o *outgoing) {
	s.waiting.add(o.d)
	otp.CallAsync(s.p, s.o.Catalog, catalog.ConnectRequest{Caller: s.caller(), Server: o.server},
		func(ref otp.Ref, err error) any { return connected{o, ref, err} })
	o.expiry.Stop()
	o.expiry = s.p.After(s.left(o.d), connectExpired{o})
}

// connectExpired ends a request whose deadline came before its connection.
func (s *Session) connectExpired(o *outgoing) {
	if s.waiting.has(o.d) {
		after := s.p.Now().Sub(s.arrived(o.d)).Round(time.Millisecond)
		s.refuse(o.d, protocol.Timeout(after).Unanswered(o.server, false))
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
	s.use(m.o.server, m.ref, m.o.d, func(error) { s.logs(m.o, func() { s.submit(m.o, m.ref) }) })
}

// use keeps the address of a connection, tells it what the client wants of its server, if anything,
// and then goes on with the request for which the connection was asked, so that what the server
// logs during a call is what the client wants to hear.
func (s *Session) use(server string, ref otp.Ref, d *session.Deliver, then func(refused error)) {
	if s.targets == nil {
		s.targets = map[string]otp.Ref{}
	}
	s.targets[server] = ref
	var servers []string
	if wish := s.wish(server); wish.Level != "" || len(wish.URIs) > 0 {
		servers = []string{server}
	}
	s.tell(d, servers, then)
}

// submit makes the exchange and hands it to the request manager.
func (s *Session) submit(o *outgoing, to otp.Ref) {
	m, limits := o.d.Message, &s.o.Tenant().Limits
	if m.Method == "tools/call" && m.May("task") && splice.Kind(m.Outline(), "task") != 0 {
		// a task is asked for by whoever keeps it; who does not offer them ignores the member
		// (2025-11-25 §basic/utilities/tasks)
		o.params, _ = splice.Delete(o.params, "task")
	}
	c := &call{names: o.names, Exchange: request.Exchange{
		ID:      s.o.NextID.Add(1),
		Session: s.h.Row(), Principal: s.h.Endpoint().Principal, Owner: s.h, Tenant: s.h,
		Client: s.asker(), Version: s.record.Version, Downstream: m.ID,
		Server: o.server, Upstream: to, Method: m.Method, Params: o.params,
		Arrived: s.arrived(o.d), Timeout: limits.CallTimeout, MaxTimeout: limits.CallTimeoutMax,
		Sink: s.sink(o), Rewrite: s.wrap(o), Visit: s.visit(o),
		Extended: s.extended(), Transparent: s.transparent(),
	}}
	x := c.named()
	if o.own {
		if x.Timeout = limits.RequestTimeout; m.Method != "tasks/get" {
			// which the other era has in another shape
			x.Version = protocol.LatestLegacy
		}
	}
	forTask(x, o)
	if x.Version.Has(protocol.PerRequestMeta) {
		x.Level = o.level()
	}
	token, _ := splice.Get(o.meta(), protocol.MetaProgressToken)
	x.Token, x.Beside = token.Clone(), o.beside // a part of the request would keep all of it
	if err := s.subscribing(o, x.ID); err != nil {
		s.refuse(o.d, err)
		return
	}
	s.p.Check() // before it is on the books of what outlives this incarnation
	x.Count(s.counted(o.d))
	o.expiry.Stop() // it would hold a large request for as long as a call may take
	s.h.Calls().Add(x)
	if err := s.p.Pass(s.o.Requests, x.Submit()); err != nil {
		x.Settle(request.Outcome{How: request.Refused, Err: s.untaken(o)})
	}
}

// counted hands over what a request counts for its tenant; nil while nobody has counted it.
func (s *Session) counted(d *session.Deliver) *quota.Reservation {
	if waited := s.waiting.take(d); waited != nil {
		return waited
	}
	return d.Keep()
}

// untaken is why the request manager does not take a request: it has too much to do, or its tenant
// is down.
func (s *Session) untaken(o *outgoing) error {
	if down := s.h.Down(); down != nil {
		return down.Cut(o.server, false)
	}
	return protocol.Overloaded("tenant", time.Second)
}

// left is how long a request has until its deadline.
func (s *Session) left(d *session.Deliver) time.Duration {
	return max(0, s.arrived(d).Add(s.o.Tenant().Limits.CallTimeout).Sub(s.p.Now()))
}

// arrived is when a request came, or is asked by the host itself.
func (s *Session) arrived(d *session.Deliver) time.Time {
	if d.Arrived.IsZero() {
		return s.p.Now()
	}
	return d.Arrived
}

// heed has this actor hear of the end of every call, as long as it needs that.
func (s *Session) heed() {
	s.p.Check() // else one that was replaced would undo what its successor says
	s.h.Listen(len(s.asked)+len(s.leaving)+len(s.levels) > 0)
}

// done hears that a call has ended.
func (s *Session) done(m request.Done) {
	defer s.heed()
	s.outlast(m.Exchange.ID, m.Failed)
	s.leave()
	s.logged(m.Exchange.Server)
	its := func(exchange uint64) bool { return exchange == m.Exchange.ID }
	switch {
	case m.Exchange.Method != "resources/subscribe":
	case m.Failed:
		s.unsubscribed(func(u session.Subscription) bool { return its(u.Asking) })
	default:
		s.agreed(its)
	}
}
