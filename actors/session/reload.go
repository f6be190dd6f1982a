package session

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// lookEvery is how often the manager checks whether sessions that are to end still have requests in
// flight.
const lookEvery = 50 * time.Millisecond

// endUnserved is the manager's timer message while sessions that are to end have requests in
// flight.
type endUnserved struct{ until time.Time }

// reload applies a changed configuration: which sessions may be used, and for how long.
func (m *Manager) reload(r ReloadRequest) {
	m.candidates = map[group]candidates{}
	m.endUnserved(endUnserved{m.o.Clock.Now().Add(m.o.EndGrace)})
	for _, h := range m.index.Sorted(func(h *Handle) bool { return r.Changed[h.endpoint.Tenant] }) {
		// a session without an actor reads the configuration when one starts
		m.p.OnBehalf(h.endpoint.Tenant, func() { _ = m.p.Send(h, Reconfigured{}) })
	}
	m.sweep()
}

// unserved reports whether a session may no longer be used. It is then not subject to other limits,
// because a tenant that is not configured has none.
func (m *Manager) unserved(h *Handle) bool { return m.o.Serves != nil && !m.o.Serves(h.endpoint) }

// endUnserved ends the sessions that may no longer be used. They get no new requests. A session
// with requests in flight ends when these have ended, or when its time is up.
func (m *Manager) endUnserved(d endUnserved) {
	last, busy, held := !m.o.Clock.Now().Before(d.until), false, false
	for _, h := range m.index.Sorted(func(h *Handle) (is bool) {
		if !m.p.OnBehalf(h.endpoint.Tenant, func() { is = m.unserved(h) }) {
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
	case held: // their tenants are on hold
		m.p.After(otp.FirstOriginPause, d)
	}
}
