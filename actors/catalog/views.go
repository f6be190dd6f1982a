package catalog

import (
	"maps"

	"mcpd/gateway/quota"
)

// views are what callers were shown and may be shown again, by who sees the same. They are kept for
// convenience: one that is not there is made anew.
type views map[group]*View

// put keeps a view. Where the tenant has no room for it, or there are too many, the others go.
func (vs views) put(g group, v *View) {
	if len(vs) >= MaxListings || !v.account.Fits(v.size()) {
		vs.forget(func(group) bool { return true })
	}
	vs[g] = v
	v.keep()
}

// forget lets go of those that which says.
func (vs views) forget(which func(group) bool) {
	maps.DeleteFunc(vs, func(g group, v *View) bool {
		if !which(g) {
			return false
		}
		if v != nil { // after a crash it may be
			v.forget()
		}
		return true
	})
}

// clear lets go of all.
func (vs views) clear() { vs.forget(func(group) bool { return true }) }

// size is how many bytes the view keeps beside the lists that it was made of.
func (v *View) size() int { return v.Catalog.Size() }

// keep counts the view for its tenant until it is forgotten.
func (v *View) keep() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counted = v.account.Hold(quota.Views, v.size()+v.made)
}

// grow counts n bytes more that were made of the view. It reports false where the tenant has no room
// for them, and they are not to be kept. The mutex is held.
func (v *View) grow(n int) bool {
	if !v.account.Fits(n) {
		return false
	}
	v.made += n
	v.counted.Resize(v.size() + v.made)
	return true
}

// forget lets go of what the view counts. Whoever has it still may use it.
func (v *View) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counted.Release()
}
