// Package session holds the session manager: the one place that knows which downstream sessions there are, who may use each, and when
// one has been idle for too long. It does not know what a session says; the actors of package server do.
package session

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/internal/clock"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// Options are what the manager is made from.
type Options struct {
	Clock clock.Clock
	// Pool is the row under which the sessions of a tenant live.
	Pool func(tenant string) (otp.Ref, bool)
	// Limit is how many sessions a tenant may have. Total bounds all of them, and is divided between as
	// many tenants as there are by quota.Shares; nil is one.
	Limit   func(tenant string) int
	Total   func() int
	Tenants func() int
	// OfPrincipal is how many one principal of a tenant may have; nil, or 0, divides what its tenant may
	// have between as many principals as there are in the same way; nil is one.
	OfPrincipal func(tenant string) int
	Principals  func(tenant string) int
	// Serves reports whether who has a session at an endpoint may use it still. Nil is always.
	Serves func(streamable.Endpoint) bool
	// Parting is how long a session that may not is kept while it has requests in flight.
	Parting time.Duration
	// Idle is how long a tenant's session lasts without a request or an open stream.
	Idle func(tenant string) time.Duration
	// Age is how long one lasts in all; nil, or 0, is no bound.
	Age   func(tenant string) time.Duration
	Store *streamable.Store
	// Storage is who writes down what survives the host; nil, or zero, for nobody.
	Storage func() otp.Ref
	// Restore yields what an earlier host has stored of its sessions, by their ids; nil for nothing.
	Restore iter.Seq2[string, jsontext.Value]
	// Events yields what it has stored of their streams, by the keys of streamable.Saved; nil for nothing.
	Events iter.Seq2[string, jsontext.Value]
	// Records reads what is stored; nil sets no record aside.
	Records *storage.Restorer
	Emit    telemetry.Sink
	// Random is where the ids of sessions come from; nil is crypto/rand.
	Random io.Reader
}

// Manager is the behaviour of core/session_manager.
type Manager struct {
	otp.Base
	o     Options
	p     *otp.Process
	index *Index
	// useless is what was stored for nothing, until it is told.
	useless useless
	// leaving holds the attempts that wait for an actor which takes nothing any more to leave its row.
	leaving map[otp.Ref][]*attempt
	timer   otp.Timer // of the next sweep
	holding bool      // endHeld is on its way
	due     time.Time // when it fires; zero when it is not set
	// spare are those sessions that make room next.
	spare map[group]spares
	*kept
}

// kept is the heir: who waits for an actor, and the actors there are.
type kept struct {
	opening   map[*Open]*Handle
	attaching map[*attempt]struct{}
	actors    map[otp.Ref]*Handle
}

// Abandon answers everyone who waits: there will be no other manager.
func (k *kept) Abandon(reason error) {
	for call := range order.By(k.opening, k.earlier) {
		call.Fail(reason)
	}
	for a := range order.By(k.attaching, byRow) {
		a.fail(reason)
	}
}

func (k *kept) earlier(a, b *Open) int { return cmp.Compare(k.opening[a].row, k.opening[b].row) }

func byRow(a, b *attempt) int { return cmp.Compare(a.h.row, b.h.row) }

// New makes one incarnation. The index outlives the manager: transports read it.
func New(o Options, index *Index) *Manager {
	if o.Storage == nil {
		o.Storage = func() (nobody otp.Ref) { return nobody }
	}
	if o.OfPrincipal == nil {
		o.OfPrincipal = func(string) int { return 0 }
	}
	if o.Tenants == nil {
		o.Tenants = func() int { return 1 }
	}
	if o.Principals == nil {
		o.Principals = func(string) int { return 1 }
	}
	if o.Age == nil {
		o.Age = func(string) time.Duration { return 0 }
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Manager{o: o, index: index}
}

type (
	started struct {
		call *Open
		h    *Handle
		ref  otp.Ref
		err  error
	}
	attached struct {
		*attempt
		ref otp.Ref
		err error
	}
	again struct{ *attempt }
	// resume is what a new incarnation has to do for a session. It is a message, so that a crash on it
	// is charged to the session's tenant.
	resume struct {
		h  *Handle
		do func()
	}
)

// Class says that it is owed: there is one for each start of an actor.
func (resume) Class() otp.Class { return otp.Owed }

// Init takes over the sessions' actors, and asks again for those that were being started: the answer went to the previous incarnation.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	m.leaving, m.spare = map[otp.Ref][]*attempt{}, map[group]spares{}
	m.index.recount(time.Duration(clock.Steady(m.o.Clock.Now())))
	var heir bool
	if m.kept, heir = p.Heir().(*kept); !heir {
		m.kept = &kept{opening: map[*Open]*Handle{}, attaching: map[*attempt]struct{}{}, actors: map[otp.Ref]*Handle{}}
		p.SetHeir(m.kept)
	}
	if m.o.Records.Due(p, "sessions") { // the index outlives the manager
		m.restore()
		m.o.Records.Finish("sessions")
	}
	m.index.Each(func(h *Handle) bool { // they say so themselves
		if ref := h.actor(); !ref.IsZero() {
			m.actors[ref] = h
		}
		return true
	})
	for ref := range order.By(m.actors, otp.Ref.Compare) {
		p.Monitor(ref)
	}
	m.unopened()
	for call, h := range order.By(m.opening, m.earlier) {
		_ = p.Post(resume{h, func() { m.start(call, h) }})
	}
	for a := range order.By(m.attaching, byRow) {
		_ = p.Post(resume{a.h, func() { m.begin(a) }})
	}
	m.arm(0)
	p.After(lookEvery, depart{m.o.Clock.Now().Add(m.o.Parting)}) // the previous incarnation may have waited for some to end
	m.index.ends.release()
	return p.Send(p.Self(), ends{}) // there may be some
}

// Receive handles one message.
func (m *Manager) Receive(p *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case *Open:
		m.open(msg)
	case started:
		m.started(msg)
	case *Attach:
		m.attach(msg)
	case *Wake:
		m.begin(&attempt{h: msg.Handle, next: firstPause})
	case *Undelivered:
		m.undelivered(msg.Deliver)
	case attached:
		m.attached(msg)
	case again:
		m.again(msg.attempt)
	case resume:
		msg.do()
	case otp.Down:
		m.down(msg)
	case *Close:
		if h, ok := m.index.Get(msg.Req.ID); ok {
			m.end(h, msg.Req.Reason)
		}
		msg.Reply(struct{}{})
	case ends:
		m.endSome()
	case endHeld:
		m.endAgain()
	case *Sweep:
		msg.Reply(m.sweep())
	case sweep:
		m.due = time.Time{}
		m.sweep()
	case *Reload:
		m.reload(msg.Req)
		msg.Reply(struct{}{})
	case depart:
		m.depart(msg)
	}
	return nil
}

// open admits a session and starts its actor. At a bound an idle session makes room: see admit.
func (m *Manager) open(call *Open) {
	ep := call.Req.Endpoint
	var peer *peerKey
	if p := call.Req.Peer; p != nil && call.Req.Terms == nil {
		if h, ok := m.index.Peer(ep, *p); ok { // several came at once
			m.opening[call] = h
			m.start(call, h)
			return
		}
		key := p.key(ep)
		peer = &key
	}
	if err := m.admit(ep, peer != nil); err != nil {
		call.Fail(err)
		return
	}
	id, row, err := m.named(call.Req.Streams)
	if err != nil {
		call.Fail(err)
		return
	}
	h := &Handle{
		id: id, endpoint: ep, opened: m.o.Clock.Now(), clock: m.o.Clock, manager: m.p.Self(), storage: m.o.Storage(), index: m.index,
		streams: call.Req.Streams, push: call.Req.Push, peer: peer,
		terms: call.Req.Terms, idle: call.Req.Idle,
	}
	if h.streams == nil {
		h.streams = m.o.Store.Streams(ep.Tenant, h.id)
	}
	if p := call.Req.Peer; p != nil {
		h.record.Store(&Record{Version: p.Version, Capabilities: p.Capabilities, Client: p.Info, Ready: true})
	}
	h.row = row
	h.Touch()
	if h.Lasting() {
		h.grain.Store(int64(grain(m.mayIdle(h))))
	}
	m.index.add(h) // now, so that many who come at once count; nobody knows its id yet
	m.opening[call] = h
	if h.Streamed() {
		m.arm(m.mayIdle(h))
		if age := m.o.Age(ep.Tenant); age > 0 {
			m.arm(age)
		}
	}
	m.start(call, h)
}

// secret is the id of a new session: 260 bits.
func (m *Manager) secret() string {
	var b [33]byte
	_, _ = io.ReadFull(m.o.Random, b[:]) // crypto/rand never fails
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])[:52]
}

// named is the id of a new session and its row. That over HTTP+SSE has the id of its streams, which its
// client knows already. One under the same id was refused by the handshake: it may still have its row.
func (m *Manager) named(on *streamable.Streams) (id, row string, err error) {
	if on != nil {
		id = on.ID()
	}
	if id == "" {
		if id, ok := m.newID(); ok {
			return id, rowOf(id), nil
		}
		return "", "", protocol.InternalError(errors.New("the random source repeats itself"))
	}
	if refused, ok := m.index.Get(id); ok && !refused.closed.Load() {
		return "", "", streamable.ErrNoSession
	} else if ok {
		m.end(refused, telemetry.ClosedRefused)
	}
	if on.Again() {
		return id, rowOf(m.secret()), nil
	}
	return id, rowOf(id), nil
}

// newID is an id that no session has. It is not ok when the random source repeats itself.
func (m *Manager) newID() (id string, ok bool) {
	for range 3 {
		id = m.secret()
		if _, taken := m.index.Get(id); !taken {
			return id, true
		}
	}
	return "", false
}

// rowOf is the row of a session in the tree, which tells nothing about its id: 128 bits of a digest,
// so that two sessions never meet by chance. See running for two that do.
func rowOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func (m *Manager) start(call *Open, h *Handle) {
	pool, _ := m.o.Pool(h.endpoint.Tenant) // where there is none, the start fails
	otp.StartChildArgsAsync(m.p, pool, h.row, Args{h}, func(ref otp.Ref, err error) any { return started{call, h, ref, err} })
}

// started hears what became of a session's first actor. The session may have ended by now.
func (m *Manager) started(s started) {
	delete(m.opening, s.call)
	if s.ref, s.err = running(s.h, s.ref, s.err); s.err != nil {
		if !s.h.Serving() { // nobody else has found it started
			m.index.remove(s.h)
			s.h.closed.Store(true)
		}
		s.call.Fail(unready(s.h))
		return
	}
	m.follow(s.h, s.ref)
	if s.h.closed.Load() {
		_ = m.p.Send(s.ref, &Expired{})
		s.call.Fail(unready(s.h))
		return
	}
	if c := s.h.terms; c != nil {
		s.h.keep()
		m.o.Emit(telemetry.SessionOpened{
			Where:     telemetry.Where{Tenant: s.h.endpoint.Tenant, Server: s.h.endpoint.Server, Session: s.h.row},
			Transport: s.h.Transport(), Principal: s.h.endpoint.Principal, Client: c.Info.Name + " " + c.Info.Version,
			Revision: s.h.Version().String(), Capabilities: c.Capabilities().Fingerprint().String(),
		})
	}
	if !s.call.Reply(s.h) && s.h.peer == nil { // nobody knows its id
		m.end(s.h, telemetry.ClosedUnclaimed)
	}
}

// running turns the start of an actor that runs already for the same session into a success. An
// actor of another session under the same row stays an error: its client may be somebody else.
func running(h *Handle, ref otp.Ref, err error) (otp.Ref, error) {
	var already otp.ErrAlreadyStarted
	if !errors.As(err, &already) {
		return ref, err
	}
	if args, ok := already.Args.(Args); ok && args.Handle == h || already.Ref == h.actor() {
		return already.Ref, nil
	}
	return otp.Ref{}, err
}

// follow makes ref the actor of a session.
func (m *Manager) follow(h *Handle, ref otp.Ref) {
	h.ref.Store(&ref)
	m.actors[ref] = h
	m.p.Monitor(ref)
}

// unfollow takes that back for an actor whose session has ended: nobody has to hear of its end, unless another is to take its row.
func (m *Manager) unfollow(h *Handle) {
	ref := h.actor()
	if delete(m.actors, ref); len(m.actors) == 0 {
		m.actors = map[otp.Ref]*Handle{} // one that was large keeps its room
	}
	if len(m.leaving[ref]) == 0 {
		m.p.Demonitor(ref)
	}
}

// end makes a session unknown and its actor go. One that has crashed is replaced for that: it must let go of what the session had asked of
// others.
func (m *Manager) end(h *Handle, reason telemetry.Closing) {
	if !m.index.remove(h) {
		return
	}
	h.closed.Store(true)
	h.Forget()
	// A channel whose handshake failed is its client's, who may try again. An earlier host has greeted
	// those that it left.
	if h.greeted.Load() || h.channel || !h.streams.Channel() {
		h.streams.Close()
	}
	m.unfollow(h)
	if m.dismiss(h, reason) != nil && h.Record() != nil {
		m.begin(&attempt{h: h, old: h.actor()})
	}
	if h.peer == nil {
		m.o.Emit(telemetry.SessionClosed{
			Where: h.closedAt(reason), Cause: reason, Age: m.o.Clock.Now().Sub(h.opened),
		})
	}
}
