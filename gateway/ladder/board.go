package ladder

import (
	"maps"
	"sync/atomic"
)

// Board publishes the standing of all tenants. Code that is about to start something for a tenant
// reads it. One actor writes it, and readers never wait. The zero Board is empty: all tenants
// run.
type Board struct {
	all   atomic.Pointer[map[string]Standing]
	moves atomic.Pointer[map[string]Move]
}

// Move is an unfinished change of a tenant. "" means that there is none.
type Move string

// The moves.
const (
	Stopping Move = "stopping"
	Starting Move = "starting"
)

// Move returns the unfinished change of a tenant.
func (b *Board) Move(tenant string) Move {
	if moves := b.moves.Load(); moves != nil {
		return (*moves)[tenant]
	}
	return ""
}

// SetMove sets the unfinished change of a tenant. Only the board's one writer calls it.
func (b *Board) SetMove(tenant string, m Move) {
	if b.Move(tenant) == m {
		return
	}
	next := map[string]Move{}
	if old := b.moves.Load(); old != nil {
		maps.Copy(next, *old)
	}
	if next[tenant] = m; m == "" {
		delete(next, tenant)
	}
	b.moves.Store(&next)
}

// Of returns the standing of a tenant.
func (b *Board) Of(tenant string) Standing {
	if all := b.all.Load(); all != nil {
		return (*all)[tenant]
	}
	return Standing{}
}

// All returns the standings that need remembering, by tenant. The caller must not change the map.
func (b *Board) All() map[string]Standing {
	if all := b.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Set sets the standing of a tenant. Only the board's one writer calls it.
func (b *Board) Set(tenant string, s Standing) {
	next := maps.Clone(b.All())
	if next == nil {
		next = map[string]Standing{}
	}
	if next[tenant] = s; s.Clean() && len(s.charged) == 0 {
		delete(next, tenant)
	}
	b.all.Store(&next)
}
