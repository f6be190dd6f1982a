package session

import (
	"maps"
	"time"

	"mcpd/actors/internal/mend"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// repair makes what a crashed incarnation left sound again, as far as the index knows the sessions it is about.
func (k *kept) repair(index *Index) []otp.Dropped {
	mend.Map(&k.opening)
	mend.Map(&k.attaching)
	mend.Map(&k.actors)
	var lost mend.Losses
	maps.DeleteFunc(k.opening, func(call *Open, h *Handle) bool {
		if lost.If(call == nil, "start", "for nobody") {
			return true
		}
		sound := index.holds(h)
		if !sound {
			lost.Drop("start", "of no session", call)
		}
		return !sound
	})
	maps.DeleteFunc(k.attaching, func(a *attempt, _ struct{}) bool {
		if lost.If(a == nil, "attempt", "missing") {
			return true
		}
		if a.next < 0 || a.next > 2*lastPause {
			a.next = 0
		}
		if a.h == nil || a.h.id == "" {
			lost.Drop("attempt", "for no session", a)
			return true
		}
		return false
	})
	maps.DeleteFunc(k.actors, func(ref otp.Ref, h *Handle) bool { return lost.If(ref.IsZero() || h == nil, "actor", "of no session") })
	return lost
}

// Fail is fail, for otp.Inherit.
func (a *attempt) Fail(err error) { a.fail(err) }

func (x *Index) holds(h *Handle) bool {
	if h == nil {
		return false
	}
	in, ok := x.Get(h.id)
	return ok && in == h
}

// recount makes the counts and the index of peers agree with the sessions there are. Readers may see a count on its way.
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
	for tenant, t := range x.held {
		for name, p := range t.principals {
			if len(p.sets.uses)+len(p.sets.left) > 0 { // they outlive their last session
				held.make(streamable.Endpoint{Tenant: tenant, Principal: name}).resume(p.sets, now)
			}
		}
	}
	x.held = held
}
