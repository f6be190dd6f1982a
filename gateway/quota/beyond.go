package quota

import "time"

// beyondShare says how far tenants may be beyond what all may keep when one more message of a
// tenant above its share begins to grow without room: by one part in eight of it.
const beyondShare = 8

// stalledAfter is how long the message whose turn it is may be in growing before that of another
// tenant has the turn: a server may stop in the middle of one.
const stalledAfter = 5 * time.Second

// turn is whose message grows beyond the bounds, and when it did last.
type turn struct {
	of *Account
	at time.Time
}

// Beyond reports whether one message of the tenant may grow as far as it must although there is no
// room. Used bytes of the tenant's are those of such messages. A tenant that keeps no more than its
// share beside them always may. The tenants that keep more have one such message at a time, and
// none while earlier ones, which nobody reads, are still beyond the bound: together they would
// fill the memory. Grows asks for more of it, and Within says that the message has come.
func (a *Account) Beyond(used int, now time.Time) bool {
	s := a.shares()
	if s.Total == 0 || a.total.Load()-int64(used) <= s.Guaranteed() {
		return true
	}
	var sum int64
	for other := range a.ledger.each {
		sum += other.total.Load()
	}
	before := a.ledger.beyond.Load()
	free := before == nil || before.of != a && now.Sub(before.at) >= stalledAfter
	if !free || sum > s.Total+s.Total/beyondShare {
		return false
	}
	mine := a.ledger.beyond.CompareAndSwap(before, &turn{a, now})
	a.lent.Store(mine)
	return mine
}

// Grows reports whether the message of which Beyond has said so still may.
func (a *Account) Grows(now time.Time) bool {
	if !a.lent.Load() {
		return true
	}
	before := a.ledger.beyond.Load()
	return before != nil && before.of == a && a.ledger.beyond.CompareAndSwap(before, &turn{a, now})
}

// Within takes note that no message of the tenant grows beyond the bounds any more.
func (a *Account) Within() {
	a.lent.Store(false)
	if before := a.ledger.beyond.Load(); before != nil && before.of == a {
		a.ledger.beyond.CompareAndSwap(before, nil)
	}
}
