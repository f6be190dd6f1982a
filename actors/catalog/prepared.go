package catalog

import (
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
)

// preparation is what one listing becomes in the list of all servers, and what that counts for the
// tenant; nil before it is counted.
type preparation struct {
	made    *merge.Prepared
	counted *quota.Reservation
}

// prepare is what a listing becomes in the list of all servers, made with the first of these.
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

// keepPrepared counts what was prepared for a view, and forgets what there is no room for.
func (vs *views) keepPrepared(account *quota.Account) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for l, p := range vs.prepared {
		switch n := p.made.Size(); {
		case p.counted != nil:
		case account.Spare(n):
			p.counted = account.Hold(quota.Views, n)
		default:
			delete(vs.prepared, l)
		}
	}
}

// unprepare forgets what a listing became that is another now.
func (vs *views) unprepare(l *listing) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if p := vs.prepared[l]; p != nil {
		p.counted.Release()
		delete(vs.prepared, l)
	}
}

// dropPrepared forgets all with the mutex held.
func (vs *views) dropPrepared() {
	for _, p := range vs.prepared {
		if p != nil { // after a crash it may be
			p.counted.Release()
		}
	}
	vs.prepared = nil
}
