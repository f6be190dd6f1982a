package request

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
)

// Table holds the exchanges of one tenant that have no outcome yet. It is the only place that holds
// all of them. The request manager adds them; the actor that has the outcome of one settles it. A
// Table is safe for concurrent use, each method is atomic, and none waits.
type Table struct {
	o      Options
	open   atomic.Int64
	shards [tableShards]shard
	each   principals
}

// tableShards is how many parts of a table can change at the same time: the readers of many
// connections settle exchanges concurrently.
const tableShards = 8

// shard holds the exchanges with every eighth id.
type shard struct {
	mu     sync.Mutex // guards what follows, and the watch of each exchange in it
	all    map[uint64]*Exchange
	wheel  inflight.Wheel[*Exchange]
	closed bool
}

// NewTable makes an empty table.
func NewTable(o Options) *Table {
	t := &Table{o: o.withDefaults()}
	for i := range t.shards {
		t.shards[i].all = map[uint64]*Exchange{}
	}
	return t
}

func (t *Table) shard(id uint64) *shard { return &t.shards[id%tableShards] }

// Take accepts an exchange and returns its deadline, or an error if it is refused. An exchange that
// has its outcome already is not accepted either; then the deadline is zero.
func (t *Table) Take(now time.Time, x *Exchange) (until time.Time, err error) {
	x.table.Store(t)
	t.begin(x)
	until, err = t.take(now, x)
	if until.IsZero() && x.Settled() { // settled by a goroutine that may not have seen it counted
		t.end(x, &Outcome{Ending: Refused})
	}
	return until, err
}

func (t *Table) take(now time.Time, x *Exchange) (until time.Time, err error) {
	if t.principalFull(x) {
		return time.Time{}, protocol.RateLimited(time.Second)
	}
	if full := t.reserve(x); full != nil {
		return time.Time{}, full.ClientError()
	}
	if t.open.Add(1) > int64(t.o.Pending()) {
		t.open.Add(-1)
		return time.Time{}, protocol.Overloaded("request manager", time.Second)
	}
	s := t.shard(x.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case x.Settled():
		t.open.Add(-1)
		return time.Time{}, nil
	case s.closed:
		t.open.Add(-1)
		return time.Time{}, protocol.Overloaded("request manager", time.Second)
	case s.all[x.ID] != nil:
		t.open.Add(-1)
		return time.Time{}, &protocol.Error{
			Condition: protocol.ConditionRequestIDConflict,
			Message:   "request " + strconv.FormatUint(x.ID, 10) + " is in flight already",
		}
	}
	s.all[x.ID] = x
	x.watch.begin(now, x)
	s.wheel.Set(&x.watch.deadline, x, x.watch.next())
	t.each.count(x, 1)
	t.o.HighWater.Note(int(t.open.Load()))
	return x.watch.next(), nil
}

// principalFull reports whether a principal has as many exchanges as it may.
func (t *Table) principalFull(x *Exchange) bool {
	most := t.o.OfPrincipal()
	return most > 0 && x.Principal != "" && !x.Uncounted && t.each.of(x.Principal) >= most
}

// reserve counts the bytes that an exchange keeps, unless its session has counted them while it
// waited there.
func (t *Table) reserve(x *Exchange) *quota.Refusal {
	if x.reservation.Load() != nil {
		return nil
	}
	if full := t.o.Account.ReserveInto(&x.own, quota.Requests, x.size()); full != nil {
		return full
	}
	// It may be settled meanwhile, because its manager was stuck and replaced.
	if x.reservation.Store(&x.own); x.Settled() {
		x.own.Release()
	}
	return nil
}

// drop takes out an exchange that has its outcome.
func (t *Table) drop(x *Exchange) {
	s := t.shard(x.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[x.ID] != x {
		return
	}
	delete(s.all, x.ID)
	s.wheel.Remove(&x.watch.deadline)
	t.open.Add(-1)
	t.each.count(x, -1)
}

// Get returns an exchange, nil for none.
func (t *Table) Get(id uint64) *Exchange {
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// Len returns the number of exchanges.
func (t *Table) Len() int { return int(t.open.Load()) }

// Filter returns the exchanges for which such is true, oldest first.
func (t *Table) Filter(match func(*Exchange) bool) (list []*Exchange) {
	for i := range t.shards {
		t.shards[i].such(match, &list)
	}
	slices.SortFunc(list, func(a, b *Exchange) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func (s *shard) such(match func(*Exchange) bool, to *[]*Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.all {
		if match(x) {
			*to = append(*to, x)
		}
	}
}

// Pending describes the exchanges for which such is true, oldest first (S4-58, S4-62).
func (t *Table) Pending(match func(*Exchange) bool) (list []Info) {
	for _, x := range t.Filter(match) {
		t.extend(x.ID, func(w *timeouts) {
			list = append(list, Info{x.ID, x.Method, x.Server, x.Session, w.started, w.next()})
		})
	}
	return list
}

// Progressed restarts the time-out of the exchange, because its server has sent progress.
func (x *Exchange) Progressed(now time.Time) {
	if t := x.table.Load(); t != nil {
		t.extend(x.ID, func(w *timeouts) { w.progress(now) })
	}
}

// close makes the table refuse further exchanges.
func (t *Table) close() {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
	}
}

// Due returns the exchanges whose time is up, oldest first.
func (t *Table) Due(now time.Time) (due []*Exchange) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		due = append(due, s.wheel.Due(now)...)
		s.mu.Unlock()
	}
	slices.SortFunc(due, func(a, b *Exchange) int { return cmp.Compare(a.ID, b.ID) })
	return due
}

// Next returns when the next exchange may be due; false when there is none.
func (t *Table) Next(now time.Time) (next time.Time, any bool) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		at, ok := s.wheel.Next(now)
		s.mu.Unlock()
		if ok && (!any || at.Before(next)) {
			next, any = at, true
		}
	}
	return next, any
}

// extend changes the deadline of an exchange and returns the new one; false if the exchange is not
// in the table.
func (t *Table) extend(id uint64, change func(*timeouts)) (at time.Time, ok bool) {
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[id]
	if x == nil {
		return time.Time{}, false
	}
	change(&x.watch)
	if at = x.watch.next(); !at.Equal(x.watch.deadline.At()) {
		s.wheel.Set(&x.watch.deadline, x, at)
	}
	return at, true
}
