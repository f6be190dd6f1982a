package session

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// lookEvery is how often a session that is to go is looked at, whether it has requests in flight.
const lookEvery = 50 * time.Millisecond

// depart is what the manager sends itself while sessions that are to go have requests in flight.
type depart struct{ until time.Time }

// reload looks at who may have a session, and for how long, anew.
func (m *Manager) reload(r ReloadRequest) {
	m.spare = map[group]spares{}
	m.depart(depart{m.o.Clock.Now().Add(m.o.Parting)})
	for _, h := range m.index.InOrder(func(h *Handle) bool { return r.Changed[h.endpoint.Tenant] }) {
		m.p.OnBehalf(h.endpoint.Tenant, func() { _ = m.p.Send(h, Reconfigured{}) }) // an actor that is not there looks at the configuration when it starts
	}
	m.sweep()
}

// departs reports whether nobody may use a session any more. What is not configured has no limits to end it by either.
func (m *Manager) departs(h *Handle) bool { return m.o.Serves != nil && !m.o.Serves(h.endpoint) }

// depart ends the sessions that nobody may use any more. Nothing new reaches them; one that has requests in flight goes when they have ended,
// or when their time is up.
func (m *Manager) depart(d depart) {
	last, busy, held := !m.o.Clock.Now().Before(d.until), false, false
	for _, h := range m.index.InOrder(func(h *Handle) (is bool) {
		if !m.p.OnBehalf(h.endpoint.Tenant, func() { is = m.departs(h) }) {
			held = true
		}
		return is
	}) {
		if h.calls.Busy() && !last {
			busy = true
		} else {
			m.index.ends.add(h, telemetry.ClosedUnconfigured)
		}
	}
	m.endSome()
	switch {
	case busy:
		m.p.After(lookEvery, d)
	case held: // nothing is done for their tenants now
		m.p.After(otp.FirstHold, d)
	}
}
