package session

import (
	"cmp"
	"slices"
	"time"

	"mcpd/telemetry"
)

// spared is how many sessions of a group are looked out at once that make room next: whoever looks
// for them goes through all of the group, and meanwhile nobody gets a session.
const spared = 256

// A group of which every session was busy is not looked at again for lookPause for each session of
// it, and for barren at most. Whoever opens sessions in vain costs the manager little that way, and
// the members of a small group get theirs as soon as a call has ended.
const (
	lookPause = 10 * time.Microsecond
	barren    = time.Second
)

// group is whose sessions make room: those of a tenant, or of one principal of it, or its peers.
type group struct {
	tenant, principal string
	each              bool // of the principal alone
	peers             bool
}

// spares are the sessions of a group that make room next, the longest idle first.
type spares struct {
	next  []spare
	until time.Time // while there is none, it is not looked for again before this
	soon  bool      // of those that are busy, one has calls only
}

// spare is a session that had not been used since last.
type spare struct {
	h    *Handle
	last int64
}

// evict ends the session of a group that has been idle longest, and reports whether there was one.
// One that is busy is never ended.
func (m *Manager) evict(g group) bool {
	s := m.spare[g]
	for looked := false; ; {
		for len(s.next) > 0 {
			next := s.next[0]
			s.next = s.next[1:]
			if next.h.last.Load() == next.last && !next.h.closed.Load() && next.h.retire() {
				m.spare[g] = s
				m.end(next.h, telemetry.ClosedEvicted)
				return true
			}
		}
		now := m.o.Clock.Now()
		if looked || now.Before(s.until) {
			m.spare[g] = s
			return false
		}
		looked = true
		members := m.index.members(g)
		s.next, s.soon = idle(members)
		if s.until = (time.Time{}); len(s.next) == 0 {
			s.until = now.Add(min(time.Duration(len(members))*lookPause, barren))
		}
	}
}

// idle finds the sessions that have been idle longest, in that order, and whether another may be idle
// soon.
func idle(members []*Handle) (all []spare, soon bool) {
	for _, h := range members {
		switch {
		case h.closed.Load():
		case h.Busy():
			soon = soon || !h.streaming()
		default:
			all = append(all, spare{h, h.last.Load()})
		}
	}
	slices.SortFunc(all, func(a, b spare) int { return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.h.row, b.h.row)) })
	return slices.Clone(all[:min(spared, len(all))]), soon
}

// members are the sessions of a group, in no order.
func (x *Index) members(g group) (all []*Handle) {
	x.mu.Lock()
	defer x.mu.Unlock()
	tenant := x.held[g.tenant]
	if tenant == nil {
		return nil
	}
	for name, p := range tenant.principals {
		if g.each && name != g.principal {
			continue
		}
		of := p.sessions.all
		if g.peers {
			of = p.peers.all
		}
		for h := range of {
			all = append(all, h)
		}
	}
	return all
}
