package quota

// cache evicts what a tenant keeps for convenience.
type cache struct {
	kind Kind
	drop func()
}

// Cached registers bytes of a kind that are kept for convenience. Drop evicts them; it may be
// called at any time, from any goroutine. They are evicted before anything of the tenant is
// refused. A nil drop removes the registration.
func (a *Account) Cached(k Kind, drop func()) {
	if a == nil {
		return
	}
	if drop == nil {
		a.cache.Store(nil)
		return
	}
	a.cache.Store(&cache{k, drop})
}

// evictFor evicts the cached bytes if that makes room for n bytes in addition to the counted bytes
// plus beyond. It reports whether there is room afterwards.
func (a *Account) evictFor(beyond, n int64) bool {
	if a == nil {
		return false
	}
	c := a.cache.Load()
	if c == nil {
		return false
	}
	if cached := a.kinds[c.kind].Load(); cached == 0 || !a.fits(beyond-cached, n) {
		return false
	}
	c.drop()
	return a.fits(beyond, n)
}

// EvictCached evicts what all tenants keep for convenience.
func (l *Ledger) EvictCached() {
	for a := range l.each {
		if c := a.cache.Load(); c != nil {
			c.drop()
		}
	}
}
