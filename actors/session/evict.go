package session

import (
	"cmp"
	"slices"
	"time"

	"mcpd/telemetry"
)

// candidateBatch is how many eviction candidates of a group are selected at once. The selection
// visits all sessions of the group, and no session is opened meanwhile.
const candidateBatch = 256

// A group in which every session was busy is not scanned again for lookPause times its size, at
// most for maxLookPause. So failed opens cost the manager little, and in a small group a client
// gets a session as soon as a call has ended.
const (
	lookPause    = 10 * time.Microsecond
	maxLookPause = time.Second
)

// group is a set of sessions of which one may be evicted: those of a tenant, those of one of its
// principals, or that principal's peers.
type group struct {
	tenant, principal string
	each              bool // of the one principal only
	peers             bool
}

// candidates are the eviction candidates of a group, the longest idle first.
type candidates struct {
	next  []candidate
	until time.Time // while there is no candidate, the group is not scanned again before this time
	soon  bool      // a busy session has calls but no stream, so it may be idle soon
}

// candidate is a session that was last used at last.
type candidate struct {
	h    *Handle
	last int64
}

// evict ends the longest idle session of a group. It returns false if there is none. A busy session
// is never ended.
func (m *Manager) evict(g group) bool {
	s := m.candidates[g]
	for looked := false; ; {
		for len(s.next) > 0 {
			next := s.next[0]
			s.next = s.next[1:]
			if next.h.last.Load() == next.last && !next.h.closed.Load() && next.h.retire() {
				m.candidates[g] = s
				m.end(next.h, telemetry.ClosedEvicted)
				return true
			}
		}
		now := m.o.Clock.Now()
		if looked || now.Before(s.until) {
			m.candidates[g] = s
			return false
		}
		looked = true
		handles := m.index.members(g)
		s.next, s.soon = idlest(handles)
		if s.until = (time.Time{}); len(s.next) == 0 {
			s.until = now.Add(min(time.Duration(len(handles))*lookPause, maxLookPause))
		}
	}
}

// idlest finds the longest idle sessions, in that order. It also reports whether another session
// may be idle soon.
func idlest(handles []*Handle) (all []candidate, soon bool) {
	for _, h := range handles {
		switch {
		case h.closed.Load():
		case h.Busy():
			soon = soon || !h.streaming()
		default:
			all = append(all, candidate{h, h.last.Load()})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.h.row, b.h.row))
	})
	return slices.Clone(all[:min(candidateBatch, len(all))]), soon
}

// members returns the sessions of a group, in no particular order.
func (x *Index) members(g group) (all []*Handle) {
	x.mu.Lock()
	defer x.mu.Unlock()
	tenant := x.holdings[g.tenant]
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
