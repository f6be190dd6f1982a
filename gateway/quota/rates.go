package quota

import (
	"maps"
	"sync"
	"time"
)

// PerSecond is the rate of n a second, with a burst of twice as many.
func PerSecond(n int) Rate { return Rate{Every: time.Second / time.Duration(n), Burst: 2 * n} }

// MaxPrincipals is how many principals of a tenant are remembered, about 1 MiB, before those with
// full buckets are forgotten.
const MaxPrincipals = 4096

// Rates rate-limits tenants and their principals. The zero Rates is ready to use. It is safe for
// concurrent use, and tenants do not wait for each other.
type Rates struct {
	tenants sync.Map // name → *meter
}

type meter struct {
	mu   sync.Mutex // guards the rest
	all  Bucket
	each map[string]*Bucket
}

// Take counts one action of a tenant and of one of its principals. All is the rate of the tenant
// and each the rate of every principal, per second; 0 is no bound. Take returns how long to wait.
// It counts nothing unless it returns 0.
func (r *Rates) Take(now time.Time, tenant, principal string, all, each int) time.Duration {
	if all == 0 && each == 0 {
		return 0
	}
	v, ok := r.tenants.Load(tenant)
	if !ok {
		v, _ = r.tenants.LoadOrStore(tenant, &meter{each: map[string]*Bucket{}})
	}
	m := v.(*meter)
	m.mu.Lock()
	defer m.mu.Unlock()
	if all > 0 {
		if wait := m.all.Wait(now, PerSecond(all)); wait > 0 {
			return wait
		}
	}
	if each > 0 {
		if wait := m.of(now, principal).Take(now, PerSecond(each)); wait > 0 {
			return wait
		}
	}
	if all > 0 {
		m.all.Take(now, PerSecond(all))
	}
	return 0
}

// of returns the bucket of a principal.
func (m *meter) of(now time.Time, principal string) *Bucket {
	b := m.each[principal]
	if b == nil {
		if len(m.each) >= MaxPrincipals {
			maps.DeleteFunc(m.each, func(_ string, b *Bucket) bool { return b.Full(now) })
		}
		b = &Bucket{}
		m.each[principal] = b
	}
	return b
}
