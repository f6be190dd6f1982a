package quota

import (
	"maps"
	"sync"
	"time"
)

// PerSecond is the rate of so many a second, and twice as many at once.
func PerSecond(n int) Rate { return Rate{Every: time.Second / time.Duration(n), Burst: 2 * n} }

// MaxPrincipals is how many principals of a tenant are remembered before those that rest are forgotten, about 1 MiB.
const MaxPrincipals = 4096

// Rates counts what tenants and their principals do. The zero Rates is ready. It is safe for concurrent use, and no tenant waits for another.
type Rates struct {
	tenants sync.Map // name -> *meter
}

type meter struct {
	mu   sync.Mutex // guards the rest
	all  Bucket
	each map[string]*Bucket
}

// Take counts one of a tenant, which may have so many a second, and of one of its principals, who may have each of them; 0 is no bound. It
// returns how long to wait; unless that is 0, nothing was counted.
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

// of is the bucket of a principal.
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
