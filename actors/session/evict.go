package session

import (
	"cmp"
	"slices"

	"mcpd/telemetry"
)

// spared is how many sessions of a tenant are looked out at once that make room next. To find them all of the host's are looked at, and
// meanwhile nobody gets a session.
const spared = 256

// spare is a session that had not been used since last.
type spare struct {
	h    *Handle
	last int64
	busy bool
}

// evict ends the session of a tenant that has been idle longest, one without calls on their way if there is such.
func (m *Manager) evict(tenant string) bool {
	next := m.spare[tenant]
	for len(next) > 0 && !next[0].still() {
		next = next[1:]
	}
	if len(next) == 0 {
		next = m.lookOut(tenant)
	}
	delete(m.spare, tenant)
	if len(next) == 0 {
		return false
	}
	if len(next) > 1 {
		m.spare[tenant] = next[1:]
	}
	m.end(next[0].h, telemetry.ClosedEvicted)
	return true
}

// still reports whether nothing has happened to a session that was looked out: then it is still idle for longer than all others.
func (s spare) still() bool {
	return !s.h.closed.Load() && s.h.last.Load() == s.last && !s.h.calls.Busy()
}

// lookOut finds the sessions of a tenant that have been idle longest, in that order. Of those with calls on their way it finds one, and only
// where there is no other.
func (m *Manager) lookOut(tenant string) []spare {
	var all []spare
	m.index.Each(func(h *Handle) bool {
		if h.endpoint.Tenant == tenant {
			all = append(all, spare{h, h.last.Load(), h.calls.Busy()})
		}
		return true
	})
	slices.SortFunc(all, func(a, b spare) int {
		if a.busy != b.busy {
			if b.busy {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.h.row, b.h.row))
	})
	n := slices.IndexFunc(all, func(s spare) bool { return s.busy })
	if n < 0 {
		n = len(all)
	}
	return slices.Clone(all[:min(max(n, 1), spared, len(all))])
}
