package memory

import (
	"time"

	"mcpd/gateway/quota"
	"mcpd/telemetry"
)

const (
	// LatelyRefused is how long a tenant counts as refused after it was.
	LatelyRefused = 5 * time.Second
	// ToldEvery is how often the log says that a tenant is refused because of what it keeps.
	ToldEvery = 10 * time.Second
)

// refusals are those of one tenant, because of what it keeps.
type refusals struct {
	seen   uint64    // how many there were when they were counted last
	at     time.Time // when the last one was noticed
	logged uint64    // how many the log was told of
	told   time.Time // when
}

// holdings is who keeps the most, and who was refused lately; the log is told of the latter.
func (m *Manager) holdings() (most quota.Holding, refused []quota.Holding) {
	if m.o.Holdings == nil {
		return most, nil
	}
	now := m.p.Now()
	for _, h := range m.o.Holdings() {
		if h.Kept > most.Kept {
			most = h
		}
		if h.Refused == 0 {
			continue
		}
		r := m.refused[h.Tenant]
		if h.Refused > r.seen {
			r.seen, r.at = h.Refused, now
		}
		if r.seen > r.logged && now.Sub(r.told) >= ToldEvery {
			m.o.Emit(telemetry.TenantRefused{
				Where: telemetry.Where{Tenant: h.Tenant}, Kept: uint64(h.Kept), Limit: uint64(h.Limit), Kinds: h.Parts(), Count: r.seen - r.logged,
			})
			r.logged, r.told = r.seen, now
		}
		m.refused[h.Tenant] = r
		if now.Sub(r.at) < LatelyRefused {
			refused = append(refused, h)
		}
	}
	return most, refused
}
