package session

import (
	"maps"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// attempt is to start a new actor for a session in the place of an old one.
type attempt struct {
	h    *Handle
	old  otp.Ref
	call *Attach       // nil when the manager itself noticed that the actor was gone
	left *Deliver      // what the old one left behind, if that is why
	next time.Duration // the pause before another try, when the manager itself noticed
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

// down hears of the end of an actor whose session goes on. It is replaced, whether it crashed or its pool ended, so that nothing its client
// should hear of is missed.
func (m *Manager) down(d otp.Down) {
	for _, a := range m.leaving[d.Ref] {
		m.begin(a)
	}
	delete(m.leaving, d.Ref)
	h := m.actors[d.Ref]
	delete(m.actors, d.Ref)
	if h == nil {
		return
	}
	h.questions.Refuse() // of one that hung: any other has done so
	if h.closed.Load() {
		h.Forget() // it may have written the session down while that ended
		return
	}
	if h.Record() == nil { // nothing was agreed on that another actor could go by
		why := telemetry.ClosedCrashed
		if otp.IsNormal(d.Reason) {
			why = telemetry.ClosedStopped
		}
		m.end(h, why)
		return
	}
	h.pause = pause(h.pause, m.o.Clock.Now().Sub(h.crashed))
	h.crashed = m.o.Clock.Now()
	next := &attempt{h: h, old: d.Ref, next: h.pause}
	if h.pause == 0 {
		next.next = firstPause
		m.begin(next)
	} else if m.later(next) {
		m.attaching[next] = struct{}{}
	}
}

// crashPause is how much longer than the pause before it an actor must have lasted to be replaced at once.
const crashPause = time.Second

// pause is how long after the end of an actor the next one is started: at once, or, when the last end was not long ago, after twice the pause
// that there was then.
func pause(last, since time.Duration) time.Duration {
	if since > last+crashPause {
		return 0
	}
	return min(max(firstPause, 2*last), 2*lastPause)
}

// Pauses before an actor that no request waits for: between ends of one that crashes again and again, and between attempts. A pool that
// restarts stops all of its sessions first, within its shutdown of 20 s, and takes no new one meanwhile. The pause doubles; after the last the session is left to its client's next request.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 16 * time.Second
)

// later makes another attempt after a pause, and reports whether it does.
func (m *Manager) later(a *attempt) bool {
	if a.next == 0 || a.next > lastPause || a.h.closed.Load() {
		return false
	}
	m.p.After(a.next, again{a})
	a.next *= 2
	return true
}

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
	if ref := h.actor(); ref != d.to && m.p.Send(ref, d) == nil {
		return
	}
	if m.index.down(h.endpoint.Tenant) != nil {
		d.Fail(otp.ErrNoProc) // which says why
		return
	}
	m.begin(&attempt{h: h, old: d.to, left: d})
}

// unopened ends the sessions that are opened for nobody any more: whoever asked was refused when the heir was given up. Nobody knows their ids, but
// their actors may be on their way, so each gets one that hears of the end.
func (m *Manager) unopened() {
	var left []*Handle
	opening := slices.Collect(maps.Values(m.opening))
	m.index.Each(func(h *Handle) bool {
		if h.actor().IsZero() && h.Record() == nil && !slices.Contains(opening, h) {
			left = append(left, h)
		}
		return true
	})
	for _, h := range left {
		_ = m.p.Post(resume{h, func() { m.unopen(h) }})
	}
}

func (m *Manager) unopen(h *Handle) {
	m.index.remove(h)
	h.closed.Store(true)
	h.streams.Close()
	m.begin(&attempt{h: h})
}

// again makes an attempt whose pause is over.
func (m *Manager) again(a *attempt) {
	if a.h.closed.Load() { // whoever ended the session has seen to its actor
		delete(m.attaching, a)
		return
	}
	m.begin(a)
}

func (m *Manager) begin(a *attempt) {
	m.attaching[a] = struct{}{}
	pool, _ := m.o.Pool(a.h.endpoint.Tenant) // where there is none, the start fails
	otp.StartChildArgsAsync(m.p, pool, a.h.row, Args{a.h}, func(ref otp.Ref, err error) any { return attached{a, ref, err} })
}

// attached hears what became of an attempt. While the old actor has not left its row yet, another is due when it has.
func (m *Manager) attached(a attached) {
	if a.ref, a.err = running(a.h, a.ref, a.err); a.err == nil && a.ref == a.old {
		m.leaving[a.old] = append(m.leaving[a.old], a.attempt)
		m.p.Monitor(a.old)
		return
	}
	if a.err != nil && m.later(a.attempt) {
		return
	}
	delete(m.attaching, a.attempt)
	if a.err != nil {
		a.fail(unready(a.h))
		return
	}
	if a.h.closed.Load() { // it ended while its actor was being started
		_ = m.p.Send(a.ref, &Expired{})
		a.fail(protocol.SessionGone())
		return
	}
	m.follow(a.h, a.ref)
	if a.call != nil {
		a.call.Reply(a.ref)
	}
	if a.left != nil {
		if err := m.p.Send(a.ref, a.left); err != nil {
			a.left.Fail(err)
		}
	}
}
