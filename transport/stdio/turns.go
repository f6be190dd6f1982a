package stdio

import "slices"

// turns says who may start a program next. Programs that ran before and are missed come before new ones, and among either those of every
// tenant in turn, so that nobody waits for all the programs of somebody else. It is a value without lock or clock. Whoever waits is a
// start with a goroutine of its own, so its length is bounded by theirs.
type turns struct {
	free  int // places that nobody has
	again lane
	first lane
}

// turn is one start that waits.
type turn struct {
	tenant string
	again  bool
	come   chan struct{} // closed when it has a place
}

// lane holds the turns of one rank.
type lane struct {
	tenants []string // that have somebody waiting, the next one first
	waiting map[string][]*turn
}

func (q *turns) lane(t *turn) *lane {
	if t.again {
		return &q.again
	}
	return &q.first
}

// wait adds a turn behind those of its tenant.
func (q *turns) wait(t *turn) {
	l := q.lane(t)
	if l.waiting == nil {
		l.waiting = map[string][]*turn{}
	}
	if len(l.waiting[t.tenant]) == 0 {
		l.tenants = append(l.tenants, t.tenant)
	}
	l.waiting[t.tenant] = append(l.waiting[t.tenant], t)
}

// next takes out the turn that has come and gives it a place; nil when nobody waits or no place is free.
func (q *turns) next() *turn {
	l := &q.again
	if len(l.tenants) == 0 {
		l = &q.first
	}
	if q.free == 0 || len(l.tenants) == 0 {
		return nil
	}
	tenant := l.tenants[0]
	t := l.waiting[tenant][0]
	l.remove(t)
	if i := slices.Index(l.tenants, tenant); i >= 0 { // it has more: behind the others
		l.tenants = append(slices.Delete(l.tenants, i, i+1), tenant)
	}
	q.free--
	return t
}

// leave takes out a turn that does not wait any longer. It reports false when the turn had come already.
func (q *turns) leave(t *turn) bool { return q.lane(t).remove(t) }

func (l *lane) remove(t *turn) bool {
	i := slices.Index(l.waiting[t.tenant], t)
	if i < 0 {
		return false
	}
	if len(l.waiting[t.tenant]) > 1 {
		l.waiting[t.tenant] = slices.Delete(l.waiting[t.tenant], i, i+1)
		return true
	}
	delete(l.waiting, t.tenant)
	l.tenants = slices.DeleteFunc(l.tenants, func(name string) bool { return name == t.tenant })
	return true
}
