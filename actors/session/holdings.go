package session

import (
	"time"

	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// holdings are the sessions and the peers of each tenant and each of its principals. The Index
// guards them.
type holdings map[string]*tenantHolds

type tenantHolds struct {
	sessions   int
	principals map[string]*principalHolds
}

// principalHolds is removed together with its last session or peer.
type principalHolds struct {
	sessions handleSet
	peers    handleSet
	sets     capabilitySets
}

// of finds the holdings of a principal, nil if it has none.
func (t holdings) of(ep streamable.Endpoint) *principalHolds {
	if tenant := t[ep.Tenant]; tenant != nil {
		return tenant.principals[ep.Principal]
	}
	return nil
}

// make is like of, but creates the entry.
func (t holdings) make(ep streamable.Endpoint) *principalHolds {
	tenant := t[ep.Tenant]
	if tenant == nil {
		tenant = &tenantHolds{principals: map[string]*principalHolds{}}
		t[ep.Tenant] = tenant
	}
	p := tenant.principals[ep.Principal]
	if p == nil {
		p = &principalHolds{}
		tenant.principals[ep.Principal] = p
	}
	return p
}

func (p *principalHolds) kind(h *Handle) *handleSet {
	if h.peer != nil {
		return &p.peers
	}
	return &p.sessions
}

func (t holdings) add(h *Handle) {
	p := t.make(h.endpoint)
	p.kind(h).add(h)
	if h.peer == nil {
		t[h.endpoint.Tenant].sessions++
	}
}

func (t holdings) remove(h *Handle, now time.Duration) {
	p := t.of(h.endpoint)
	if p == nil {
		return
	}
	if !p.kind(h).has(h) {
		return
	}
	p.kind(h).remove(h)
	if h.peer == nil {
		t[h.endpoint.Tenant].sessions--
	}
	for _, t := range h.grantedSets {
		p.sets.release(t.granted, now)
	}
	h.grantedSets = nil
	t.tidy(h.endpoint, now)
}

// resume takes over the capability sets from before a crash, and counts their uses again.
func (p *principalHolds) resume(before capabilitySets, now time.Duration) {
	p.sets = capabilitySets{uses: map[protocol.Fingerprint]int{}, unusedSince: before.unusedSince}
	for _, kind := range []handleSet{p.sessions, p.peers} {
		for h := range kind.all {
			for _, t := range h.grantedSets {
				p.sets.uses[t.granted]++
				delete(p.sets.unusedSince, t.granted)
			}
		}
	}
	for f := range before.uses {
		if p.sets.uses[f] == 0 {
			p.sets.unusedSince[f] = now
		}
	}
}

// tidy removes empty entries.
func (t holdings) tidy(ep streamable.Endpoint, now time.Duration) {
	tenant := t[ep.Tenant]
	if p := tenant.principals[ep.Principal]; len(p.sessions.all)+len(p.peers.all) == 0 &&
		p.sets.empty(now) {
		delete(tenant.principals, ep.Principal)
	}
	if len(tenant.principals) == 0 {
		delete(t, ep.Tenant)
	}
}

// grantedSet is a set of capabilities that a client declares, with the set that servers are told
// of.
type grantedSet struct{ declared, granted protocol.Fingerprint }

// grant returns the set of capabilities that servers are told of on behalf of a session whose
// client declares f. The answer stays the same for the life of the session, because its connections
// are found by it.
func (t holdings) grant(h *Handle, f protocol.Fingerprint, now time.Duration) protocol.Fingerprint {
	p := t.of(h.endpoint)
	if p == nil { // the session has ended, and servers are told nothing more
		return 0
	}
	for _, before := range h.grantedSets {
		if before.declared == f {
			return before.granted
		}
	}
	granted := p.sets.grant(f, now)
	h.grantedSets = append(h.grantedSets, grantedSet{f, granted})
	return granted
}
