package quota

// cache lets go of what a tenant keeps for convenience.
type cache struct {
	kind Kind
	drop func()
}

// Cached says that bytes of a kind are kept for convenience: drop lets go of them at any time, from
// any goroutine. They go before anything of the tenant is refused. A nil drop takes that back.
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

// dropFor lets go of what is cached where that makes room for n bytes beside what is counted, and
// what is beyond that. It reports whether there is room then.
func (a *Account) dropFor(beyond, n int64) bool {
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

// DropCached lets go of what all tenants keep for convenience.
func (l *Ledger) DropCached() {
	for a := range l.each {
		if c := a.cache.Load(); c != nil {
			c.drop()
		}
	}
}
