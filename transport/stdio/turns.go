package stdio

import (
	"slices"
	"time"
)

// turns decides which start is next, and when. Tenants take turns, so that no tenant waits for more
// than one program of any other. Among the starts of one tenant, programs that ran before come
// before new ones. turns is a value without lock or clock. Its length is bounded by the number of
// goroutines that wait in Start.
type turns struct {
	free    int // free places for starting programs
	rate    rate
	tenants []string // tenants with waiting starts, the next one first
	again   lane
	first   lane
	waiting int
}

// turn is one waiting start.
type turn struct {
	tenant string
	again  bool
	come   chan struct{} // closed when the turn has a place
}

// lane holds the turns of one rank, by tenant, in order.
type lane map[string][]*turn

func (q *turns) lane(t *turn) lane {
	if t.again {
		return q.again
	}
	return q.first
}

// wait adds a turn behind those of its tenant.
func (q *turns) wait(t *turn) {
	if q.again == nil {
		q.again, q.first = lane{}, lane{}
	}
	if !slices.Contains(q.tenants, t.tenant) {
		q.tenants = append(q.tenants, t.tenant)
	}
	l := q.lane(t)
	l[t.tenant] = append(l[t.tenant], t)
	q.waiting++
}

// next takes out the turn that has come and gives it a place. It returns nil when no start waits,
// no place is free, or the rate has no room yet; in the last case it also returns the time until
// then.
func (q *turns) next(now time.Time) (*turn, time.Duration) {
	if q.free == 0 || q.waiting == 0 {
		return nil, 0
	}
	if wait := q.rate.take(now); wait > 0 {
		return nil, wait
	}
	tenant := q.tenants[0]
	l := q.again
	if len(l[tenant]) == 0 {
		l = q.first
	}
	t := l[tenant][0]
	q.leave(t)
	if i := slices.Index(q.tenants, tenant); i >= 0 { // it has more: they go behind the other tenants
		q.tenants = append(slices.Delete(q.tenants, i, i+1), tenant)
	}
	q.free--
	return t, 0
}

// leave takes out a turn that does not wait any longer. It reports false when the turn had come
// already.
func (q *turns) leave(t *turn) bool {
	l := q.lane(t)
	i := slices.Index(l[t.tenant], t)
	if i < 0 {
		return false
	}
	q.waiting--
	if l[t.tenant] = slices.Delete(l[t.tenant], i, i+1); len(l[t.tenant]) == 0 {
		delete(l, t.tenant)
	}
	if len(q.again[t.tenant])+len(q.first[t.tenant]) == 0 {
		q.tenants = slices.DeleteFunc(q.tenants, func(name string) bool { return name == t.tenant })
	}
	return true
}

// rate is a rate limit: a burst passes at once, and then one start per interval. The zero value has
// no limit.
type rate struct {
	every time.Duration
	burst int
	full  time.Time // the time at which the whole burst is available again
}

// take lets one start pass, or returns how long it must wait.
func (r *rate) take(now time.Time) (wait time.Duration) {
	if r.full.Before(now) {
		r.full = now
	}
	if wait = r.full.Sub(now) - time.Duration(r.burst-1)*r.every; r.every > 0 && wait > 0 {
		return wait
	}
	r.full = r.full.Add(r.every)
	return 0
}
