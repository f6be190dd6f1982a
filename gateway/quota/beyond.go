package quota

import "time"

// beyondShare bounds the bytes of all tenants together beyond the total: one part in beyondShare
// of it. Above that bound, no further message of a tenant above its share begins to grow without
// room.
const beyondShare = 8

// stalledAfter is how long the message that has the turn may stop growing before another tenant
// may take the turn. A server may stop in the middle of a message.
const stalledAfter = 5 * time.Second

// turn says which tenant has a message that grows beyond the bounds, and when the message last
// grew.
type turn struct {
	of *Account
	at time.Time
}

// MayExceed reports whether one message of the tenant may grow as far as it must although there is
// no room. Used is how many of the tenant's bytes belong to such messages. A tenant that keeps no
// more than its share beside them always may. The other tenants take turns: one of them has one
// such message at a time. No turn begins while earlier unread messages are still too far beyond
// the bound, because together they would fill the memory. The caller calls MayGrow before the
// message grows further, and EndExcess when the message is complete.
func (a *Account) MayExceed(used int, now time.Time) bool {
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
	a.hasTurn.Store(mine)
	return mine
}

// MayGrow reports whether the message that MayExceed has permitted may grow further.
func (a *Account) MayGrow(now time.Time) bool {
	if !a.hasTurn.Load() {
		return true
	}
	before := a.ledger.beyond.Load()
	return before != nil && before.of == a && a.ledger.beyond.CompareAndSwap(before, &turn{a, now})
}

// EndExcess records that no message of the tenant grows beyond the bounds any more.
func (a *Account) EndExcess() {
	a.hasTurn.Store(false)
	if before := a.ledger.beyond.Load(); before != nil && before.of == a {
		a.ledger.beyond.CompareAndSwap(before, nil)
	}
}
