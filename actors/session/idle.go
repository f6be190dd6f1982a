package session

import "time"

// sweep is what the manager sends itself when a session can be idle for too long.
type sweep struct{}

// A session ends late by at most one part in slack of its time, or minSweep: a sweep looks at all sessions, so it is not made for each.
const (
	slack    = 60
	minSweep = time.Second
)

// arm sees to it that there is a sweep in d at the latest.
func (m *Manager) arm(d time.Duration) {
	d = max(d, minSweep)
	if at := m.o.Clock.Now().Add(d); m.due.IsZero() || at.Before(m.due) {
		m.timer.Stop()
		m.timer, m.due = m.p.After(d, sweep{}), at
	}
}

// sweep ends what has been idle for too long. An open stream keeps a session: its transport touches it. So does a channel of its own.
func (m *Manager) sweep() (ended int) {
	now := m.o.Clock.Now()
	m.index.Each(func(h *Handle) bool {
		if !h.Streamed() {
			return true
		}
		limit := m.o.Idle(h.endpoint.Tenant)
		if left := limit - h.Idle(now); left >= 0 {
			m.arm(left + limit/slack)
			return true
		}
		m.end(h, "idle")
		ended++
		return true
	})
	return ended
}
