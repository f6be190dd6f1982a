package session

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// sweep is what the manager sends itself when a session can be idle for too long.
type sweep struct{}

// A session ends late by at most one part in slack of its time, or minSweep: a sweep looks at all sessions, so it is not made for each.
const (
	slack    = 60
	minSweep = time.Second
)

// PeerIdle is how long a peer is remembered that sends nothing. It loses nothing when it is forgotten but the connections it has warm: as
// long as it has calls, which may wait for its user, it is not.
const PeerIdle = 5 * time.Minute

// mayIdle is how long a session lasts unused.
func (m *Manager) mayIdle(h *Handle) time.Duration {
	limit := m.o.Idle(h.endpoint.Tenant)
	switch {
	case h.peer != nil:
		return min(limit, PeerIdle)
	case h.idle > 0:
		return min(limit, h.idle)
	}
	return limit
}

// grain is how exactly is written down when a session was last used that may idle for so long: coarse
// enough that few requests write something, and fine enough that nobody minds the difference.
func grain(limit time.Duration) time.Duration { return max(limit/16, time.Second) }

// arm sees to it that there is a sweep in d at the latest.
func (m *Manager) arm(d time.Duration) {
	d = max(d, minSweep)
	if at := m.o.Clock.Now().Add(d); m.due.IsZero() || at.Before(m.due) {
		m.timer.Stop()
		m.timer, m.due = m.p.After(d, sweep{}), at
	}
}

// sweep ends what has been idle for too long, or is too old. An open stream keeps a session: its transport touches it. So does a channel of its own.
func (m *Manager) sweep() (ended int) {
	now := m.o.Clock.Now()
	due := map[*Handle]telemetry.Closing{}
	for _, h := range m.index.InOrder(func(h *Handle) (is bool) {
		if !m.p.OnBehalf(h.endpoint.Tenant, func() {
			var why telemetry.Closing
			if why, is = m.over(h, now); is {
				due[h] = why
			}
		}) {
			m.arm(otp.FirstHold) // nothing is done for its tenant now
		}
		return is
	}) {
		m.index.ends.add(h, due[h])
		ended++
	}
	m.endSome()
	return ended
}

// over says whether a session is to end now, and why. For one that is not there is a sweep when it may be.
func (m *Manager) over(h *Handle, now time.Time) (why telemetry.Closing, is bool) {
	if !h.Streamed() || m.departs(h) {
		return why, false
	}
	if age := m.o.Age(h.endpoint.Tenant); age > 0 {
		if now.Sub(h.opened) >= age {
			return telemetry.ClosedAged, true
		}
		m.arm(age - now.Sub(h.opened))
	}
	limit := m.mayIdle(h)
	if h.Lasting() {
		h.grain.Store(int64(grain(limit)))
	}
	left := limit - h.Idle(now)
	if left < 0 && h.peer != nil && h.calls.Busy() {
		left = limit
	}
	if left < 0 {
		return telemetry.ClosedIdle, true
	}
	m.arm(left + limit/slack)
	return why, false
}
