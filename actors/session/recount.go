package session

import (
	"time"

	"mcpd/transport/streamable"
)

func (x *Index) holds(h *Handle) bool {
	if h == nil {
		return false
	}
	in, ok := x.Get(h.id)
	return ok && in == h
}

// recount makes the counts and the index of peers agree with the existing sessions. Readers may see
// intermediate counts.
func (x *Index) recount(now time.Duration) {
	held, total := holdings{}, int64(0)
	x.Each(func(h *Handle) bool {
		held.add(h)
		if h.peer != nil {
			x.peers.Store(*h.peer, h)
		} else {
			total++
		}
		return true
	})
	x.peers.Range(func(key, h any) bool {
		if !x.holds(h.(*Handle)) {
			x.peers.CompareAndDelete(key, h)
		}
		return true
	})
	x.total.Store(total)
	x.mu.Lock()
	defer x.mu.Unlock()
	for tenant, t := range x.holdings {
		for name, p := range t.principals {
			if len(p.sets.uses)+len(p.sets.unusedSince) > 0 { // sets outlive their last session
				held.make(streamable.Endpoint{Tenant: tenant, Principal: name}).resume(p.sets, now)
			}
		}
	}
	x.holdings = held
}
