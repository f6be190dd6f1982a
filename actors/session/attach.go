package session

import (
	"maps"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// attempt is one try to start a new actor for a session in place of an old one.
type attempt struct {
	h    *Handle
	old  otp.Ref
	call *Attach // nil when the manager itself noticed that the actor was gone
	// message that the old actor left unhandled, if that is the reason for the attempt
	undelivered *Deliver
	next        time.Duration // pause before the next try; 0 unless the manager itself noticed
}

// fail answers everyone that waits for the new actor: there is none.
func (a *attempt) fail(err error) {
	if a.call != nil {
		a.call.Fail(err)
	}
	if a.undelivered != nil {
		a.undelivered.Fail(err)
	}
}

// down handles the end of an actor. If its session goes on, the actor is replaced, whether it
// crashed or its pool ended, so that its client misses no notification.
func (m *Manager) down(d otp.Down) {
	for _, a := range m.waitingForExit[d.Ref] {
		m.begin(a)
	}
	delete(m.waitingForExit, d.Ref)
	h := m.actors[d.Ref]
	delete(m.actors, d.Ref)
	if h == nil {
		return
	}
	// needed only for an actor that hung: any other has refused its questions itself
	h.questions.Refuse()
	if h.closed.Load() {
		h.Forget() // the actor may have stored the session while it ended
		return
	}
	if h.Record() == nil { // nothing was negotiated from which another actor could start
		cause := telemetry.ClosedCrashed
		if otp.IsNormal(d.Reason) {
			cause = telemetry.ClosedStopped
		}
		m.end(h, cause)
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

// crashPause is how long an actor must have run to be replaced at once when it ends.
const crashPause = time.Second

// pause returns the time between the end of an actor and the start of the next. It is 0 if the time
// since the last end is more than the last pause plus crashPause. Otherwise it is twice the last
// pause, at least firstPause and at most twice lastPause.
func pause(last, since time.Duration) time.Duration {
	if since > last+crashPause {
		return 0
	}
	return min(max(firstPause, 2*last), 2*lastPause)
}

// Pauses before an actor is started that no request waits for: between the ends of an actor that
// crashes again and again, and between attempts. A restarting pool first stops all of its sessions,
// within its shutdown time of 20 s, and accepts no new session meanwhile. The pause doubles. After
// the last pause the session waits for its client's next request.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 16 * time.Second
)

// later schedules another attempt after a pause. It returns false when there is to be none.
func (m *Manager) later(a *attempt) bool {
	if a.next == 0 || a.next > lastPause || a.h.closed.Load() {
		return false
	}
	m.p.After(a.next, again{a})
	a.next *= 2
	return true
}

// attach starts a new actor for a session whose actor is gone. Several requests may ask at once;
// the first start serves all of them.
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
	call.AnswerLater()
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
		d.Fail(otp.ErrNoProc) // Fail reports why the tenant is down
		return
	}
	m.begin(&attempt{h: h, old: d.to, undelivered: d})
}

// unopened ends the sessions that no client waits for any more. Their openers were refused when the
// carried state was dropped. No client knows their ids, but their actors may be starting, so each
// gets an actor that is told to end.
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
	if a.h.closed.Load() { // the code that ended the session has told its actor
		delete(m.attaching, a)
		return
	}
	m.begin(a)
}

func (m *Manager) begin(a *attempt) {
	m.attaching[a] = struct{}{}
	pool, _ := m.o.Pool(a.h.endpoint.Tenant) // without a pool the start fails
	otp.StartChildArgsAsync(m.p, pool, a.h.row, Args{a.h}, func(ref otp.Ref, err error) any {
		return attached{a, ref, err}
	})
}

// attached handles the result of an attempt. If the old actor still occupies the row, another
// attempt follows when it has left.
func (m *Manager) attached(a attached) {
	if a.ref, a.err = running(a.h, a.ref, a.err); a.err == nil && a.ref == a.old {
		m.waitingForExit[a.old] = append(m.waitingForExit[a.old], a.attempt)
		m.p.Monitor(a.old)
		return
	}
	if a.err != nil && m.later(a.attempt) {
		return
	}
	delete(m.attaching, a.attempt)
	if a.err != nil {
		a.fail(notReady(a.h))
		return
	}
	if a.h.closed.Load() { // the session ended while its actor was being started
		_ = m.p.Send(a.ref, &Expired{})
		a.fail(protocol.SessionGone())
		return
	}
	m.follow(a.h, a.ref)
	if a.call != nil {
		a.call.Reply(a.ref)
	}
	if a.undelivered != nil {
		if err := m.p.Send(a.ref, a.undelivered); err != nil {
			a.undelivered.Fail(err)
		}
	}
}
