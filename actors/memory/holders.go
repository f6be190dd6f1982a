package memory

import (
	"time"

	"mcpd/gateway/quota"
	"mcpd/telemetry"
)

const (
	// LatelyRefused is how long a tenant counts as refused after its last refusal.
	LatelyRefused = 5 * time.Second
	// ToldEvery is the shortest time between two log records about refusals of one tenant for its
	// memory.
	ToldEvery = 10 * time.Second
)

// refusals counts the refusals of one tenant for its memory.
type refusals struct {
	seen   uint64    // number at the last count
	at     time.Time // when the last one was noticed
	logged uint64    // number reported to the log
	told   time.Time // time of that report
}

// holdings returns the tenant that keeps the most bytes, and the tenants that were refused lately.
// It reports refusals to the log.
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
				Where: telemetry.Where{Tenant: h.Tenant}, Kept: uint64(h.Kept), Limit: uint64(h.Limit),
				Kinds: h.Parts(), Count: r.seen - r.logged,
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
