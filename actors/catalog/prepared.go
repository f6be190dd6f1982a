package catalog

import (
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
)

// preparation is a listing in its form for the aggregate's list, with its quota reservation; the
// reservation is nil before it is counted.
type preparation struct {
	made    *merge.Prepared
	counted *quota.Reservation
}

// prepare returns the prepared form of a listing, which is made on first use.
func (vs *views) prepare(l *listing) *merge.Prepared {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	p := vs.prepared[l]
	if p == nil {
		if vs.prepared == nil {
			vs.prepared = map[*listing]*preparation{}
		}
		p = &preparation{made: &merge.Prepared{}}
		vs.prepared[l] = p
	}
	return p.made
}

// keepPrepared charges the prepared forms of a new view to the tenant, and forgets those for which
// there is no room.
func (vs *views) keepPrepared(account *quota.Account) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for l, p := range vs.prepared {
		switch n := p.made.Size(); {
		case p.counted != nil:
		case account.FitsUncached(n):
			p.counted = account.Count(quota.ClientLists, n)
		default:
			delete(vs.prepared, l)
		}
	}
}

// unprepare forgets the prepared form of a listing that has changed.
func (vs *views) unprepare(l *listing) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if p := vs.prepared[l]; p != nil {
		p.counted.Release()
		delete(vs.prepared, l)
	}
}

// dropPrepared forgets all prepared forms. The caller holds the mutex.
func (vs *views) dropPrepared() {
	for _, p := range vs.prepared {
		if p != nil { // possible after a crash
			p.counted.Release()
		}
	}
	vs.prepared = nil
}
