package catalog

import (
	"maps"
	"sync"
	"sync/atomic"

	"mcpd/gateway/quota"
)

// views is a cache of the views that callers were shown, by group. A missing view is made again.
// The catalogue fills the cache. Any goroutine may clear it when the memory is needed for something
// else.
type views struct {
	mu sync.Mutex
	by map[group]*View
	// old are the views of a crashed incarnation. They are not shown to new callers, but sessions that
	// use them need not wait for the next view.
	old map[group]*View
	// prepared are the prepared forms of listings, which many views share.
	prepared map[*listing]*preparation
}

// Handle finds a view for as long as the catalogue keeps it. Between their requests, sessions keep
// a handle instead of the view. Otherwise each session would hold an outdated view after a change
// of the lists.
type Handle struct{ view atomic.Pointer[View] }

// View returns the view, or nil once the catalogue has dropped it.
func (h *Handle) View() *View {
	if h == nil {
		return nil
	}
	return h.view.Load()
}

// Handle returns the handle that a session keeps instead of the view.
func (v *View) Handle() *Handle { return v.handle }

// get returns the view of a group, nil if there is none.
func (vs *views) get(g group) *View {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.by[g]
}

// put stores a view. If the tenant has no room for it, or there are too many, all others are
// dropped.
func (vs *views) put(g group, v *View) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if len(vs.by) >= MaxListings || !v.account.FitsUncached(v.size()) {
		vs.drop(func(group) bool { return true })
		vs.dropPrepared()
	}
	if vs.by == nil {
		vs.by = map[group]*View{}
	}
	v.keep()
	vs.by[g] = v
	if before := vs.old[g]; before != nil {
		delete(vs.old, g)
		before.forget()
	}
}

// retainOld keeps the views of a crashed incarnation for the sessions that use them.
func (vs *views) retainOld() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for g, v := range vs.by {
		if v == nil { // possible after a crash
			continue
		}
		if vs.old == nil {
			vs.old = map[group]*View{}
		}
		if before := vs.old[g]; before != nil {
			before.forget()
		}
		vs.old[g] = v
	}
	vs.by = nil
	vs.dropPrepared()
}

// forget drops the views of the matching groups.
func (vs *views) forget(which func(group) bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.drop(which)
}

// drop does the same as forget. The caller holds the mutex.
func (vs *views) drop(which func(group) bool) {
	for _, kept := range []map[group]*View{vs.by, vs.old} {
		maps.DeleteFunc(kept, func(g group, v *View) bool {
			if !which(g) {
				return false
			}
			if v != nil { // possible after a crash
				v.forget()
			}
			return true
		})
	}
}

// clear drops all views.
func (vs *views) clear() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.drop(func(group) bool { return true })
	vs.dropPrepared()
}

// size is how many bytes the view keeps in addition to the lists from which it was made.
func (v *View) size() int { return v.Catalog.Size() }

// keep charges a new view to its tenant until it is forgotten.
func (v *View) keep() {
	v.counted, v.handle = v.account.Count(quota.ClientLists, v.size()), &Handle{}
	v.handle.view.Store(v)
}

// forget releases the view's reservation. A request that still has the view may use it. forget does
// not lock the view's mutex, because the holder of the mutex may be slow.
func (v *View) forget() {
	v.counted.Release()
	if v.handle != nil { // possible after a crash
		v.handle.view.Store(nil)
	}
}
