package session

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// sweep is the manager's timer message: look for sessions that have been idle for too long.
type sweep struct{}

// A session may end late, by its limit divided by slack or by minSweep, whichever is longer. A
// sweep visits all sessions, so there is not one for each session.
const (
	slack    = 60
	minSweep = time.Second
)

// PeerIdle is how long an idle peer is remembered. A forgotten peer loses only its warm
// connections. A peer with calls, which may wait for their user, is not forgotten.
const PeerIdle = 5 * time.Minute

// idleLimit returns how long a session may stay unused.
func (m *Manager) idleLimit(h *Handle) time.Duration {
	limit := m.o.Idle(h.endpoint.Tenant)
	switch {
	case h.peer != nil:
		return min(limit, PeerIdle)
	case h.idle > 0:
		return min(limit, h.idle)
	}
	return limit
}

// grain returns the precision with which the last use of a session is stored, for an idle limit. It
// is coarse enough that few requests cause a write, and fine enough for the purpose.
func grain(limit time.Duration) time.Duration { return max(limit/16, time.Second) }

// arm makes sure that a sweep comes within d, or within minSweep if that is longer.
func (m *Manager) arm(d time.Duration) {
	d = max(d, minSweep)
	if at := m.o.Clock.Now().Add(d); m.due.IsZero() || at.Before(m.due) {
		m.timer.Stop()
		m.timer, m.due = m.p.After(d, sweep{}), at
	}
}

// sweep ends sessions that have been idle for too long or are too old. An open stream keeps a
// session, because its transport touches it. A session over stdio is not swept: it ends with its
// channel.
func (m *Manager) sweep() (ended int) {
	now := m.o.Clock.Now()
	due := map[*Handle]telemetry.Closing{}
	for _, h := range m.index.Sorted(func(h *Handle) (is bool) {
		if !m.p.OnBehalf(h.endpoint.Tenant, func() {
			var cause telemetry.Closing
			if cause, is = m.expired(h, now); is {
				due[h] = cause
			}
		}) {
			m.arm(otp.FirstOriginPause) // its tenant is on hold
		}
		return is
	}) {
		m.index.ends.add(h, due[h])
		ended++
	}
	m.endSome()
	return ended
}

// expired says whether a session must end now, and why. If it need not, over schedules the sweep
// for the time when it may have to.
func (m *Manager) expired(h *Handle, now time.Time) (cause telemetry.Closing, is bool) {
	if !h.Streamed() || m.unserved(h) {
		return cause, false
	}
	if age := m.o.Age(h.endpoint.Tenant); age > 0 {
		if now.Sub(h.opened) >= age {
			return telemetry.ClosedAged, true
		}
		m.arm(age - now.Sub(h.opened))
	}
	limit := m.idleLimit(h)
	if h.Persistent() {
		h.grain.Store(int64(grain(limit)))
	}
	remaining := limit - h.Idle(now)
	if remaining < 0 && h.peer != nil && h.calls.Busy() {
		remaining = limit
	}
	if remaining < 0 {
		return telemetry.ClosedIdle, true
	}
	m.arm(remaining + limit/slack)
	return cause, false
}
