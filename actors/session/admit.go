package session

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// sessionCounts counts the sessions of each holder, by its name. The holders share a bounded number
// of sessions. They are the tenants of the host, or the principals of one tenant.
type sessionCounts map[string]int

// verdict is the decision about one more session.
type verdict struct {
	hasRoom    bool // there is room for the session
	guaranteed bool // within the guaranteed part: admitted even if no session can be ended for it
	// otherwise: the holders whose idle sessions may be ended for it, in this order
	evictFrom []string
}

// decide says whether the requester, the holder named who, may have one more session.
//
// If there is no room, an idle session of another holder may be ended. Candidates are the holders
// that, with one session less, are at least as far above their guaranteed part as the requester is
// with one more. The furthest above comes first. So a holder never loses a session to a holder that
// has more. If the requester already has its whole guaranteed part, one of its own idle sessions
// may be ended too.
func (c sessionCounts) decide(s quota.Shares, who string) verdict {
	total, excess := 0, int64(0)
	for _, held := range c {
		total += held
		excess += s.Excess(int64(held))
	}
	held := int64(c[who])
	after := s.Excess(held + 1)
	v := verdict{guaranteed: after == 0}
	if v.hasRoom = s.Total == 0 || s.Admits(held, 1, excess) && int64(total) < s.Total; v.hasRoom {
		return v
	}
	for name, n := range c {
		if name == who && n > 0 && !v.guaranteed || name != who && s.Excess(int64(n)) > after {
			v.evictFrom = append(v.evictFrom, name)
		}
	}
	slices.SortFunc(v.evictFrom, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.above(s, b, who), c.above(s, a, who)), cmp.Compare(a, b))
	})
	return v
}

// above returns how far a holder is above its guaranteed part. If name is who, the requested
// session counts too.
func (c sessionCounts) above(s quota.Shares, name, who string) int64 {
	held := int64(c[name])
	if name == who {
		held++
	}
	return s.Excess(held)
}

// admit makes room for one more session or peer, or returns the reason why there is none. It never
// ends a session that has work in flight or an open stream.
func (m *Manager) admit(ep streamable.Endpoint, peer bool) error {
	if err := m.admitCount(ep, peer); err != nil {
		return err
	}
	return m.admitBytes(ep, peer)
}

// admitCount applies the bounds on the number of sessions and peers.
func (m *Manager) admitCount(ep streamable.Endpoint, peer bool) error {
	if peer {
		return m.admitPeer(ep)
	}
	if err := m.admitTo(ep); err != nil {
		return err
	}
	shares := quota.Shares{Total: int64(m.o.Total()), Tenants: m.o.Tenants()}
	all := m.index.tenants()
	v := all.decide(shares, ep.Tenant)
	if v.hasRoom {
		return nil
	}
	groups := make([]group, len(v.evictFrom))
	for i, tenant := range v.evictFrom {
		groups[i] = group{tenant: tenant}
	}
	if m.evictOne(groups) || v.guaranteed {
		return nil
	}
	return protocol.LimitReached(false, "max_total_sessions", ep.Tenant, "", fmt.Sprintf(
		"tenant %s has %d sessions: its share of max_total_sessions is %d, the %d that are free for "+
			"all are used up, and neither a session beyond a share nor one of its own can make room: each "+
			"has a call in flight or an open stream",
		ep.Tenant, all[ep.Tenant], shares.Guaranteed(), shares.Free(),
	), m.wait(groups))
}

// admitTo applies the bounds on the sessions of one tenant.
func (m *Manager) admitTo(ep streamable.Endpoint) error {
	own := []group{{tenant: ep.Tenant, principal: ep.Principal, each: true}}
	if most := m.o.OfPrincipal(ep.Tenant); most > 0 && m.index.Principal(ep) >= most &&
		!m.evictOne(own) {
		return protocol.LimitReached(true, "max_principal_sessions", ep.Tenant, ep.Principal, fmt.Sprintf(
			"%s has %d sessions at tenant %s, as many as it may (max_principal_sessions), and each has a "+
				"call in flight or an open stream",
			ep.Principal, m.index.Principal(ep), ep.Tenant,
		), m.wait(own))
	}
	most, names := m.o.Limit(ep.Tenant), m.o.Principals(ep.Tenant)
	if most == 0 {
		return protocol.SessionGone() // the tenant is no longer configured
	}
	if names < 2 || m.o.OfPrincipal(ep.Tenant) > 0 {
		whole := []group{{tenant: ep.Tenant}}
		if m.index.Tenant(ep.Tenant) < most || m.evictOne(whole) {
			return nil
		}
		return protocol.LimitReached(false, "max_sessions", ep.Tenant, "", fmt.Sprintf(
			"tenant %s has %d sessions, as many as it may (max_sessions), and each has a call in flight "+
				"or an open stream",
			ep.Tenant, m.index.Tenant(ep.Tenant),
		), m.wait(whole))
	}
	shares := quota.Shares{Total: int64(most), Tenants: names}
	all := m.index.principals(ep.Tenant)
	v := all.decide(shares, ep.Principal)
	if v.hasRoom {
		return nil
	}
	groups := make([]group, len(v.evictFrom))
	for i, name := range v.evictFrom {
		groups[i] = group{tenant: ep.Tenant, principal: name, each: true}
	}
	if m.evictOne(groups) || v.guaranteed {
		return nil
	}
	return protocol.LimitReached(true, "max_principal_sessions", ep.Tenant, ep.Principal, fmt.Sprintf(
		"%s has %d sessions at tenant %s: its share of max_sessions is %d, the %d that are free for "+
			"all keys are used up, and neither a session beyond a share nor one of its own can make room: "+
			"each has a call in flight or an open stream",
		ep.Principal, all[ep.Principal], ep.Tenant, shares.Guaranteed(), shares.Free(),
	), m.wait(groups))
}

// admitPeer applies the bound on peers.
func (m *Manager) admitPeer(ep streamable.Endpoint) error {
	if m.o.Limit(ep.Tenant) == 0 {
		return protocol.SessionGone() // the tenant is no longer configured
	}
	own := []group{{ep.Tenant, ep.Principal, true, true}}
	if m.index.Peers(ep) < MaxPeers || m.evictOne(own) {
		return nil
	}
	return protocol.LimitReached(true, "peers", ep.Tenant, ep.Principal, fmt.Sprintf(
		"%s has requests of %d kinds of clients in flight at tenant %s, as many as it may", ep.Principal,
		MaxPeers, ep.Tenant,
	), m.wait(own))
}

// evictOne ends the longest idle session of the first group that has an idle one.
func (m *Manager) evictOne(groups []group) bool {
	return slices.ContainsFunc(groups, m.evict)
}

// Retry-After for a client that is refused because every session is busy. A call ends soon, a
// stream may stay open.
const (
	callWait   = time.Second
	streamWait = time.Minute
)

// wait returns how long a refused client should wait before it asks for a session of these groups
// again.
func (m *Manager) wait(groups []group) time.Duration {
	for _, g := range groups {
		if m.candidates[g].soon {
			return callWait
		}
	}
	return streamWait
}
