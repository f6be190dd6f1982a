package quota

import (
	"testing"
	"time"
)

// One message of a tenant below its share grows beyond all bounds, whatever other tenants do.
// Tenants above their share take turns, and none begins while too much is beyond the bound.
func TestMessagesGrowBeyondTheBound(t *testing.T) {
	now := time.Now()
	l := NewLedger(nil)
	l.Bound(Bounds{Tenants: 4, Total: 8000}) // 1000 for each tenant
	modest, greedy, other := l.Account("modest"), l.Account("greedy"), l.Account("other")
	modest.Add(Requests, 900)
	modest.Add(Answers, 5000)
	greedy.Add(Tasks, 2000)
	other.Add(Tasks, 1001)
	for range 2 {
		if !modest.MayExceed(5000, now) {
			t.Error("a message of a tenant below its share waits")
		}
	}
	if !greedy.MayExceed(0, now) || other.MayExceed(0, now) {
		t.Error("two tenants above their share have a message that grows, or none has")
	}
	modest.EndExcess()
	if other.MayExceed(0, now) {
		t.Error("another may because a third has come")
	}
	greedy.EndExcess()
	if !other.MayExceed(0, now) {
		t.Error("the next may not")
	}
	other.EndExcess()
	greedy.Add(Answers, 200) // 9101 of 9000
	if greedy.MayExceed(200, now) {
		t.Error("a message grows while there is much beyond the bound")
	}
}

// Another tenant may take a turn that was not used for a while. The previous owner's next MayGrow
// returns false.
func TestTurnOfAMessageThatStalls(t *testing.T) {
	l, now := NewLedger(nil), time.Now()
	l.Bound(Bounds{Tenants: 4, Total: 8000})
	first, next, last := l.Account("first"), l.Account("next"), l.Account("last")
	for _, a := range []*Account{first, next, last} {
		a.Add(Tasks, 2000)
	}
	if !first.MayExceed(0, now) || first.MayExceed(0, now.Add(time.Hour)) {
		t.Error("one tenant has two turns, or none")
	}
	now = now.Add(stalledAfter - 1)
	if next.MayExceed(0, now) || !first.MayGrow(now) || next.MayExceed(0, now.Add(stalledAfter-1)) {
		t.Error("the turn of a message that grows is given away")
	}
	if now = now.Add(stalledAfter); !next.MayExceed(0, now) || last.MayExceed(0, now) {
		t.Error("the turn of a message that stalls is not given away, or twice")
	}
	if first.MayGrow(now) || !next.MayGrow(now) {
		t.Error("a turn that was given away is used")
	}
	if first.EndExcess(); last.MayExceed(0, now) {
		t.Error("a turn ends by one who had it before")
	}
	if next.EndExcess(); !last.MayExceed(0, now) {
		t.Error("a turn does not end")
	}
}
