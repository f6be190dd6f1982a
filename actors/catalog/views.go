package catalog

import (
	"maps"
	"sync"
	"sync/atomic"

	"mcpd/gateway/quota"
)

// views are what callers were shown and may be shown again, by who sees the same. They are kept for
// convenience: one that is not there is made anew. The catalogue fills them, and anybody may clear
// them where the memory is needed for something else.
type views struct {
	mu sync.Mutex
	by map[group]*View
	// old are those of an incarnation that crashed. They are shown to nobody, but sessions that
	// have them need not wait for the next one.
	old map[group]*View
	// prepared is what listings become in the list of all servers, which many views share.
	prepared map[*listing]*preparation
}

// Handle leads to a view for as long as the catalogue keeps it. Sessions remember the handle
// between their requests and not the view: after a change of the lists each would keep another one.
type Handle struct{ view atomic.Pointer[View] }

// View is nil once the catalogue has let go of it.
func (h *Handle) View() *View {
	if h == nil {
		return nil
	}
	return h.view.Load()
}

// Handle is what a session remembers of the view.
func (v *View) Handle() *Handle { return v.handle }

// get is the view of those who see the same; nil if there is none.
func (vs *views) get(g group) *View {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.by[g]
}

// put keeps a view. Where the tenant has no room for it, or there are too many, the others go.
func (vs *views) put(g group, v *View) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if len(vs.by) >= MaxListings || !v.account.Spare(v.size()) {
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

// outlive keeps the views of an incarnation that crashed for those who have them.
func (vs *views) outlive() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for g, v := range vs.by {
		if v == nil { // after a crash it may be
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

// forget lets go of those that which says.
func (vs *views) forget(which func(group) bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.drop(which)
}

// drop is forget with the mutex held.
func (vs *views) drop(which func(group) bool) {
	for _, kept := range []map[group]*View{vs.by, vs.old} {
		maps.DeleteFunc(kept, func(g group, v *View) bool {
			if !which(g) {
				return false
			}
			if v != nil { // after a crash it may be
				v.forget()
			}
			return true
		})
	}
}

// clear lets go of all.
func (vs *views) clear() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.drop(func(group) bool { return true })
	vs.dropPrepared()
}

// size is how many bytes the view keeps beside the lists that it was made of.
func (v *View) size() int { return v.Catalog.Size() }

// keep counts a new view for its tenant until it is forgotten.
func (v *View) keep() {
	v.counted, v.handle = v.account.Hold(quota.Views, v.size()), &Handle{}
	v.handle.view.Store(v)
}

// forget lets go of what the view counts. A request that has it still may use it. The mutex of the
// view is not waited for: whoever has it may be slow.
func (v *View) forget() {
	v.counted.Release()
	if v.handle != nil { // after a crash it may be
		v.handle.view.Store(nil)
	}
}
