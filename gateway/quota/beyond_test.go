package quota

import "testing"

// One message of a tenant below its share grows beyond all bounds, whatever others do. Of those
// above their share it is one at a time, and none while there is much beyond the bound.
func TestMessagesGrowBeyondTheBound(t *testing.T) {
	l := NewLedger(nil)
	l.Bound(Bounds{Tenants: 4, Total: 8000}) // 1000 are each tenant's
	modest, greedy, other := l.Of("modest"), l.Of("greedy"), l.Of("other")
	modest.Add(Requests, 900)
	modest.Add(Answers, 5000)
	greedy.Add(Tasks, 2000)
	other.Add(Tasks, 1001)
	for range 2 {
		if !modest.Beyond(5000) {
			t.Error("a message of a tenant below its share waits")
		}
	}
	if !greedy.Beyond(0) || other.Beyond(0) {
		t.Error("two tenants above their share have a message that grows, or none has")
	}
	modest.Within()
	if other.Beyond(0) {
		t.Error("another may because a third has come")
	}
	greedy.Within()
	if !other.Beyond(0) {
		t.Error("the next may not")
	}
	other.Within()
	greedy.Add(Answers, 200) // 9101 of 9000
	if greedy.Beyond(200) {
		t.Error("a message grows while there is much beyond the bound")
	}
}
