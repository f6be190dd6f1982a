// Package session holds the session manager: the one actor that knows which downstream sessions
// exist, who may use each, and when one has been idle for too long. It does not interpret the
// messages of a session; the actors of package server do.
//
// A session belongs to one client, which presents the session's id. A client of a revision without
// sessions has none, unless it has negotiated one (OpenRequest.Negotiated). All requests of such
// clients that one principal sends with the same capabilities share a peer instead; see Peer. A
// Handle is the address of a session or a peer. It stays valid while the actor behind it is
// replaced.
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
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// Options are the manager's settings and dependencies.
type Options struct {
	Clock clock.Clock
	// Pool is the row under which the sessions of a tenant live.
	Pool func(tenant string) (otp.Ref, bool)
	// Limit is how many sessions a tenant may have. Total bounds the sessions of all tenants. It is
	// divided between Tenants tenants by quota.Shares; a nil Tenants means one tenant.
	Limit   func(tenant string) int
	Total   func() int
	Tenants func() int
	// OfPrincipal is how many sessions one principal of a tenant may have. If it is nil or returns 0,
	// the tenant's limit is divided between Principals principals by quota.Shares. A nil Principals
	// means one principal.
	OfPrincipal func(tenant string) int
	Principals  func(tenant string) int
	// Serves reports whether the sessions of an endpoint may still be used. A nil Serves means that
	// they always may.
	Serves func(streamable.Endpoint) bool
	// EndGrace is how long a session that may no longer be used is kept while it has requests in
	// flight.
	EndGrace time.Duration
	// Idle is how long a tenant's session lasts without a request or an open stream.
	Idle func(tenant string) time.Duration
	// Age is how long a session lasts in all. There is no bound if Age is nil or returns 0.
	Age   func(tenant string) time.Duration
	Store *streamable.Store
	// Storage is the actor that stores what survives the host. Nothing is stored if it is nil or
	// returns the zero Ref.
	Storage func() otp.Ref
	// Restore yields the sessions that an earlier host stored, by their ids. Nil means none.
	Restore iter.Seq2[string, jsontext.Value]
	// Events yields the stored stream events, by the keys of streamable.Saved. Nil means none.
	Events iter.Seq2[string, jsontext.Value]
	// Records reads stored records. If it is nil, no record is set aside.
	Records *storage.Restorer
	Emit    telemetry.Sink
	// Random is the source of session ids. Nil means crypto/rand.
	Random io.Reader
}

// Manager is the behaviour of core/session_manager.
type Manager struct {
	otp.Base
	o     Options
	p     *otp.Process
	index *Index
	// droppedRecords are the stored records that were of no use, until they are reported.
	droppedRecords droppedRecords
	// waitingForExit holds the attempts that wait for an old actor, which accepts nothing any more, to
	// leave its row.
	waitingForExit map[otp.Ref][]*attempt
	timer          otp.Timer // for the next sweep
	holding        bool      // an endHeld message is on its way
	due            time.Time // when timer fires; zero when it is not set
	// spare are the eviction candidates.
	candidates map[group]candidates
	*carriedState
}

// carriedState is the carried state: the requests that wait for an actor, and the running actors.
type carriedState struct {
	opening   map[*Open]*Handle
	attaching map[*attempt]struct{}
	actors    map[otp.Ref]*Handle
}

// Abandon fails all waiting requests, because there will be no other manager.
func (k *carriedState) Abandon(reason error) {
	for call := range sortedmap.SortedBy(k.opening, k.earlier) {
		call.Fail(reason)
	}
	for a := range sortedmap.SortedBy(k.attaching, byRow) {
		a.fail(reason)
	}
}

func (k *carriedState) earlier(a, b *Open) int {
	return cmp.Compare(k.opening[a].row, k.opening[b].row)
}

func byRow(a, b *attempt) int { return cmp.Compare(a.h.row, b.h.row) }

// New makes one incarnation. The index outlives the manager, because transports read it.
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
	// resume is work that a new incarnation has to do for a session. It is a message, so that a crash
	// in it is charged to the session's tenant.
	resume struct {
		h  *Handle
		do func()
	}
)

// Class returns otp.Reserved (reserved): there is one such message for each start of an actor.
func (resume) Class() otp.Class { return otp.Reserved }

// Init takes over the sessions' actors. It requests again those that were being started, because
// the answer went to the previous incarnation.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	m.waitingForExit, m.candidates = map[otp.Ref][]*attempt{}, map[group]candidates{}
	m.index.recount(time.Duration(clock.SteadyNanos(m.o.Clock.Now())))
	var restored bool
	if m.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		m.carriedState = &carriedState{
			opening: map[*Open]*Handle{}, attaching: map[*attempt]struct{}{}, actors: map[otp.Ref]*Handle{},
		}
		p.SetCarriedState(m.carriedState)
	}
	if m.o.Records.Due(p, "sessions") { // once only: the index outlives the manager
		m.restore()
		m.o.Records.Finish("sessions")
	}
	m.index.Each(func(h *Handle) bool { // the handles know their actors
		if ref := h.actor(); !ref.IsZero() {
			m.actors[ref] = h
		}
		return true
	})
	for ref := range sortedmap.SortedBy(m.actors, otp.Ref.Compare) {
		p.Monitor(ref)
	}
	m.unopened()
	for call, h := range sortedmap.SortedBy(m.opening, m.earlier) {
		_ = p.Post(resume{h, func() { m.start(call, h) }})
	}
	for a := range sortedmap.SortedBy(m.attaching, byRow) {
		_ = p.Post(resume{a.h, func() { m.begin(a) }})
	}
	m.arm(0)
	// the previous incarnation may have waited for sessions to finish
	p.After(lookEvery, endUnserved{m.o.Clock.Now().Add(m.o.EndGrace)})
	m.index.ends.release()
	return p.Send(p.Self(), ends{}) // sessions may be waiting to be ended
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
	case endUnserved:
		m.endUnserved(msg)
	}
	return nil
}

// open admits a session and starts its actor. At a bound, an idle session is ended to make room:
// see admit.
func (m *Manager) open(call *Open) {
	ep := call.Req.Endpoint
	var peer *peerKey
	if p := call.Req.Peer; p != nil && call.Req.Negotiated == nil {
		if h, ok := m.index.Peer(ep, *p); ok { // several requests of the peer came at once
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
		id: id, endpoint: ep, opened: m.o.Clock.Now(), clock: m.o.Clock, manager: m.p.Self(),
		storage: m.o.Storage(), index: m.index,
		streams: call.Req.Streams, push: call.Req.Push, peer: peer,
		negotiated: call.Req.Negotiated, idle: call.Req.Idle,
	}
	if h.streams == nil {
		h.streams = m.o.Store.Streams(ep.Tenant, h.id)
	}
	if p := call.Req.Peer; p != nil {
		h.record.Store(&Record{
			Version: p.Version, Capabilities: p.Capabilities, Client: p.Info, Ready: true,
		})
	}
	h.row = row
	h.Touch()
	if h.Persistent() {
		h.grain.Store(int64(grain(m.idleLimit(h))))
	}
	m.index.add(h) // now, so that concurrent requests count; no client knows the id yet
	m.opening[call] = h
	if h.Streamed() {
		m.arm(m.idleLimit(h))
		if age := m.o.Age(ep.Tenant); age > 0 {
			m.arm(age)
		}
	}
	m.start(call, h)
}

// secret makes the id of a new session: 260 random bits.
func (m *Manager) secret() string {
	var b [33]byte
	_, _ = io.ReadFull(m.o.Random, b[:]) // crypto/rand never fails
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])[:52]
}

// named makes the id and the row of a new session. A session over HTTP+SSE has the id of its
// streams, which its client already knows. If a handshake under that id was refused, the old
// session may still occupy its row.
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

// newID makes an id that no session has. It fails when the random source repeats itself.
func (m *Manager) newID() (id string, ok bool) {
	for range 3 {
		id = m.secret()
		if _, taken := m.index.Get(id); !taken {
			return id, true
		}
	}
	return "", false
}

// rowOf returns the row of a session in the tree. It is 128 bits of a digest of the id, so it
// reveals nothing about the id, and two sessions never collide by chance. The function running
// handles two that do.
func rowOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func (m *Manager) start(call *Open, h *Handle) {
	call.AnswerLater()
	pool, _ := m.o.Pool(h.endpoint.Tenant) // without a pool the start fails
	otp.StartChildArgsAsync(m.p, pool, h.row, Args{h}, func(ref otp.Ref, err error) any {
		return started{call, h, ref, err}
	})
}

// started handles the result of starting a session's first actor. The session may have ended
// meanwhile.
func (m *Manager) started(s started) {
	delete(m.opening, s.call)
	if s.ref, s.err = running(s.h, s.ref, s.err); s.err != nil {
		if !s.h.Serving() { // no other request has found it started
			m.index.remove(s.h)
			s.h.closed.Store(true)
		}
		s.call.Fail(notReady(s.h))
		return
	}
	m.follow(s.h, s.ref)
	if s.h.closed.Load() {
		_ = m.p.Send(s.ref, &Expired{})
		s.call.Fail(notReady(s.h))
		return
	}
	if c := s.h.negotiated; c != nil {
		s.h.storeAsync()
		m.o.Emit(telemetry.SessionOpened{
			Where: telemetry.Where{
				Tenant: s.h.endpoint.Tenant, Server: s.h.endpoint.Server, Session: s.h.row,
			},
			Transport: s.h.Transport(), Principal: s.h.endpoint.Principal,
			Client:   c.Info.Name + " " + c.Info.Version,
			Revision: s.h.Version().String(), Capabilities: c.Capabilities().Fingerprint().String(),
		})
	}
	if !s.call.Reply(s.h) && s.h.peer == nil { // the caller has gone, and no client knows the id
		m.end(s.h, telemetry.ClosedUnclaimed)
	}
}

// running turns the error that an actor already runs into a success, if the actor serves the same
// session. An actor of another session under the same row stays an error, because its client may be
// somebody else.
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

// follow makes ref the actor of a session, and monitors it.
func (m *Manager) follow(h *Handle, ref otp.Ref) {
	h.ref.Store(&ref)
	m.actors[ref] = h
	m.p.Monitor(ref)
}

// unfollow undoes follow when the session has ended. The actor's end matters no longer, unless
// another actor is to take its row.
func (m *Manager) unfollow(h *Handle) {
	ref := h.actor()
	if delete(m.actors, ref); len(m.actors) == 0 {
		m.actors = map[otp.Ref]*Handle{} // a map that was large keeps its memory
	}
	if len(m.waitingForExit[ref]) == 0 {
		m.p.Demonitor(ref)
	}
}

// end removes a session and ends its actor. A crashed actor is first replaced, because an actor
// must release what the session had asked of others.
func (m *Manager) end(h *Handle, reason telemetry.Closing) {
	if !m.index.remove(h) {
		return
	}
	h.closed.Store(true)
	h.Forget()
	// After a failed handshake an HTTP+SSE channel still belongs to its client, who may try again. A
	// channel from an earlier host has completed its handshake there.
	if h.initialized.Load() || h.channel || !h.streams.Channel() {
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
