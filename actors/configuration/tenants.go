package configuration

import (
	"time"

	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

// leaving is a tenant that is no longer configured. It is stopped when its sessions have ended, or
// when the time is up.
type leaving struct {
	until  time.Time
	ending bool // its rows are being stopped and removed
}

// Messages that the manager sends to itself.
type (
	look    struct{}
	ended   struct{ tenant string }
	deleted struct{ tenant string }
	pause   struct{ again func() }
	again   struct{ again func() }
)

// lookEvery is the interval at which the sessions of a leaving tenant are counted.
const lookEvery = 50 * time.Millisecond

// endGrace is the time that the sessions of a tenant have to end after the end of the drain.
const endGrace = time.Second

// start starts the rows of a tenant. R is the reload that waits for them, nil when none does.
func (m *Manager) start(tenant string, r *run) {
	var ask func()
	ask = func() {
		otp.StartChildAsync(m.p, m.o.Tenants(), m.o.Tenant(tenant), func(_ otp.Ref, err error) any {
			return retryOr(err, ask, settled{r})
		})
	}
	ask()
}

// leave makes a tenant end when it has no more sessions.
func (m *Manager) leave(tenant string, until time.Time) {
	m.leaving[tenant] = &leaving{until: until.Add(endGrace)}
	m.lookAgain()
}

// stay reports whether a tenant that is configured again still has rows, or gets them again once
// the old ones are gone.
func (m *Manager) stay(tenant string) bool {
	l := m.leaving[tenant]
	if l != nil && !l.ending {
		delete(m.leaving, tenant)
	}
	return l != nil
}

func (m *Manager) lookAgain() {
	if !m.looking && len(m.leaving) > 0 {
		m.looking = true
		m.p.After(lookEvery, look{})
	}
}

// stopEmptyTenants stops the leaving tenants that have no more sessions.
func (m *Manager) stopEmptyTenants() {
	waiting := false
	for tenant, l := range sortedmap.Sorted(m.leaving) {
		switch {
		case l.ending:
		case m.o.Open(tenant) > 0 && m.p.Now().Before(l.until):
			waiting = true
		default:
			l.ending = true
			m.stop(tenant)
		}
	}
	if waiting {
		m.lookAgain()
	}
}

func (m *Manager) stop(tenant string) {
	otp.TerminateChildAsync(m.p, m.o.Tenants(), tenant, func(err error) any {
		return retryOr(err, func() { m.stop(tenant) }, ended{tenant})
	})
}

func (m *Manager) ended(tenant string) {
	otp.DeleteChildAsync(m.p, m.o.Tenants(), tenant, func(err error) any {
		return retryOr(err, func() { m.ended(tenant) }, deleted{tenant})
	})
}

// deleted handles the removal of a tenant's rows. Meanwhile the tenant may have been configured
// again.
func (m *Manager) deleted(tenant string) {
	delete(m.leaving, tenant)
	now, _ := m.o.Now()
	for _, t := range now.Tenants {
		if t.Name == tenant {
			m.start(tenant, nil)
		}
	}
}
