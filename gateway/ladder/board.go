package ladder

import (
	"maps"
	"sync/atomic"
)

// Board shows how tenants stand to everybody who lets something begin. One actor writes it; reading
// waits for nobody. The zero Board is empty: all tenants run.
type Board struct {
	all   atomic.Pointer[map[string]Standing]
	moves atomic.Pointer[map[string]Move]
}

// Move is what is under way to make a tenant as it stands; "" is nothing.
type Move string

// The moves.
const (
	Stopping Move = "stopping"
	Starting Move = "starting"
)

// Move is what is under way with a tenant.
func (b *Board) Move(tenant string) Move {
	if moves := b.moves.Load(); moves != nil {
		return (*moves)[tenant]
	}
	return ""
}

// SetMove changes what is under way. Only the board's one writer calls it.
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

// Of is how a tenant stands.
func (b *Board) Of(tenant string) Standing {
	if all := b.all.Load(); all != nil {
		return (*all)[tenant]
	}
	return Standing{}
}

// All are the tenants that there is something to remember of. The map is not to be changed.
func (b *Board) All() map[string]Standing {
	if all := b.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Set changes how a tenant stands. Only the board's one writer calls it.
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
