// Package session holds the session manager: the one place that knows which downstream sessions there are, who may use each, and when
// one has been idle for too long. It does not know what a session says; the actors of package server do.
package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"mcpd/internal/clock"
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
	// Limit is how many sessions a tenant may have; Total bounds all of them.
	Limit func(tenant string) int
	Total int
	// Idle is how long a tenant's session lasts without a request or an open stream.
	Idle  func(tenant string) time.Duration
	Sweep time.Duration // how often idle ones are looked for
	Store *streamable.Store
	Emit  telemetry.Sink
}

// Manager is the behaviour of core/session_manager.
type Manager struct {
	otp.Base
	o     Options
	p     *otp.Process
	index *Index
	// leaving holds the attempts that wait for an actor which takes nothing any more to leave its row.
	leaving map[otp.Ref][]*attempt
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
	for call := range k.opening {
		call.Fail(reason)
	}
	for a := range k.attaching {
		a.fail(reason)
	}
}

// New makes one incarnation. The index outlives the manager: transports read it.
func New(o Options, index *Index) *Manager { return &Manager{o: o, index: index} }

type (
	sweep   struct{}
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
)

// attempt is to start a new actor for a session in the place of an old one.
type attempt struct {
	h    *Handle
	old  otp.Ref
	call *Attach  // nil when the manager itself noticed that the actor was gone
	left *Deliver // what the old one left behind, if that is why
}

// fail tells whoever waits for the new actor that there is none.
func (a *attempt) fail(err error) {
	if a.call != nil {
		a.call.Fail(err)
	}
	if a.left != nil {
		a.left.Fail(err)
	}
}

// Init takes over the sessions' actors, and asks again for those that were being started: the answer went to the previous incarnation.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	m.leaving = map[otp.Ref][]*attempt{}
	if m.kept, _ = p.Heir().(*kept); m.kept == nil {
		m.kept = &kept{opening: map[*Open]*Handle{}, attaching: map[*attempt]struct{}{}, actors: map[otp.Ref]*Handle{}}
		p.SetHeir(m.kept)
	}
	for ref := range m.actors {
		p.Monitor(ref)
	}
	for call, h := range m.opening {
		m.start(call, h)
	}
	for a := range m.attaching {
		m.begin(a)
	}
	p.After(m.o.Sweep, sweep{})
	return nil
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
	case *Undelivered:
		m.undelivered(msg.Deliver)
	case attached:
		m.attached(msg)
	case otp.Down:
		m.down(msg)
	case *Close:
		if h, ok := m.index.Get(msg.Req.ID); ok {
			m.end(h, msg.Req.Reason)
		}
		msg.Reply(struct{}{})
	case *Sweep:
		msg.Reply(m.sweep())
	case sweep:
		m.sweep()
		p.After(m.o.Sweep, sweep{})
	}
	return nil
}

// open admits a session and starts its actor. At a bound the longest idle session of the tenant makes room.
func (m *Manager) open(call *Open) {
	ep := call.Req.Endpoint
	if m.index.Tenant(ep.Tenant) >= m.o.Limit(ep.Tenant) || m.index.Len() >= m.o.Total {
		if !m.evict(ep.Tenant) {
			call.Fail(protocol.Overloaded("tenant "+ep.Tenant, time.Minute))
			return
		}
	}
	h := &Handle{
		id: rand.Text() + rand.Text(), endpoint: ep, opened: m.o.Clock.Now(), clock: m.o.Clock, manager: m.p.Self(),
		streams: m.o.Store.Streams(), push: call.Req.Push,
	}
	sum := sha256.Sum256([]byte(h.id))
	h.row = hex.EncodeToString(sum[:6])
	h.Touch()
	m.index.add(h) // now, so that many who come at once count; nobody knows its id yet
	m.opening[call] = h
	m.start(call, h)
}

func (m *Manager) start(call *Open, h *Handle) {
	pool, _ := m.o.Pool(h.endpoint.Tenant) // where there is none, the start fails
	otp.StartChildArgsAsync(m.p, pool, h.row, Args{h}, func(ref otp.Ref, err error) any { return started{call, h, ref, err} })
}

// started hears what became of a session's first actor. It may have lost its place to another session by now.
func (m *Manager) started(s started) {
	delete(m.opening, s.call)
	if s.ref, s.err = running(s.ref, s.err); s.err != nil {
		m.index.remove(s.h)
		s.call.Fail(protocol.Overloaded("tenant", time.Second))
		return
	}
	m.follow(s.h, s.ref)
	if s.h.closed.Load() {
		_ = s.ref.Send(&Expired{Reason: evicted})
		s.call.Fail(protocol.Overloaded("tenant", time.Second))
		return
	}
	s.call.Reply(s.h)
}

// running turns the start of what runs already into a success.
func running(ref otp.Ref, err error) (otp.Ref, error) {
	var already otp.ErrAlreadyStarted
	if errors.As(err, &already) {
		return already.Ref, nil
	}
	return ref, err
}

// follow makes ref the actor of a session.
func (m *Manager) follow(h *Handle, ref otp.Ref) {
	h.ref.Store(&ref)
	m.actors[ref] = h
	m.p.Monitor(ref)
}

// down hears of the end of an actor. One that crashed is replaced at once, so that nothing its client should hear of is missed; one that
// crashes again and again is left to its client's next request.
func (m *Manager) down(d otp.Down) {
	for _, a := range m.leaving[d.Ref] {
		m.begin(a)
	}
	delete(m.leaving, d.Ref)
	h := m.actors[d.Ref]
	delete(m.actors, d.Ref)
	if h == nil || otp.IsNormal(d.Reason) || h.closed.Load() {
		return
	}
	if h.Record() == nil { // nothing was agreed on that another actor could go by
		m.end(h, "crashed")
		return
	}
	if now := m.o.Clock.Now(); now.Sub(h.crashed) > crashPause {
		h.crashed = now
		m.begin(&attempt{h: h, old: d.Ref})
	}
}

// crashPause is how much time must be between two crashes of a session for the second to be mended at once too.
const crashPause = time.Second

// attach starts a new actor for a session whose actor is gone. Several requests may ask at once; the first start serves all.
func (m *Manager) attach(call *Attach) {
	h := call.Req.Handle
	if _, ok := m.index.Get(h.id); !ok || h.Record() == nil {
		call.Fail(protocol.SessionGone())
		return
	}
	if ref := h.actor(); ref != call.Req.Gone && ref.Alive() {
		call.Reply(ref)
		return
	}
	m.begin(&attempt{h: h, old: h.actor(), call: call})
}

// undelivered gives a message to the next actor of its session.
func (m *Manager) undelivered(d *Deliver) {
	h := d.handle
	if _, ok := m.index.Get(h.id); !ok || h.Record() == nil {
		d.Fail(protocol.SessionGone())
		return
	}
	if ref := h.actor(); ref != d.to && ref.Send(d) == nil {
		return
	}
	m.begin(&attempt{h: h, old: d.to, left: d})
}

func (m *Manager) begin(a *attempt) {
	m.attaching[a] = struct{}{}
	pool, _ := m.o.Pool(a.h.endpoint.Tenant) // where there is none, the start fails
	otp.StartChildArgsAsync(m.p, pool, a.h.row, Args{a.h}, func(ref otp.Ref, err error) any { return attached{a, ref, err} })
}

// attached hears what became of an attempt. While the old actor has not left its row yet, another is due when it has.
func (m *Manager) attached(a attached) {
	if a.ref, a.err = running(a.ref, a.err); a.err == nil && a.ref == a.old {
		m.leaving[a.old] = append(m.leaving[a.old], a.attempt)
		m.p.Monitor(a.old)
		return
	}
	delete(m.attaching, a.attempt)
	if a.err != nil {
		a.fail(protocol.Overloaded("tenant", time.Second))
		return
	}
	if a.h.closed.Load() { // it ended while its actor was being started
		_ = a.ref.Send(&Expired{Reason: "session ended"})
		a.fail(protocol.SessionGone())
		return
	}
	m.follow(a.h, a.ref)
	if a.call != nil {
		a.call.Reply(a.ref)
	}
	if a.left != nil {
		if err := a.ref.Send(a.left); err != nil {
			a.left.Fail(err)
		}
	}
}

// evicted is why a session ended that made room for another.
const evicted = "made room for another"

// evict ends the session of a tenant that has been idle longest.
func (m *Manager) evict(tenant string) bool {
	now := m.o.Clock.Now()
	var longest *Handle
	m.index.Each(func(h *Handle) bool {
		if h.endpoint.Tenant == tenant && (longest == nil || h.Idle(now) > longest.Idle(now)) {
			longest = h
		}
		return true
	})
	if longest == nil {
		return false
	}
	m.end(longest, evicted)
	return true
}

// sweep ends what has been idle for too long. An open stream keeps a session: its transport touches it. So
// does a channel of its own.
func (m *Manager) sweep() (ended int) {
	now := m.o.Clock.Now()
	m.index.Each(func(h *Handle) bool {
		if h.Streamed() && h.Idle(now) > m.o.Idle(h.endpoint.Tenant) {
			m.end(h, "idle")
			ended++
		}
		return true
	})
	return ended
}

// end makes a session unknown and its actor go.
func (m *Manager) end(h *Handle, reason string) {
	if !m.index.remove(h) {
		return
	}
	h.closed.Store(true)
	h.streams.Close()
	_ = h.Send(&Expired{Reason: reason})
	m.o.Emit(telemetry.SessionClosed{
		Where: telemetry.Where{Tenant: h.endpoint.Tenant, Server: h.endpoint.Server, Session: h.row}, Cause: reason, Age: m.o.Clock.Now().Sub(h.opened),
	})
}
