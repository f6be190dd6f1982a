package subscription

import (
	"strconv"
	"testing"

	"mcpd/protocol"
)

// An empty queue frees the memory of a flood. Its capacity equals that of a queue with little
// traffic.
func TestQueueGivesBackWhatAFloodHasFilled(t *testing.T) {
	var q Queue[int]
	for round := range 3 {
		for i := range 2 * protocol.MaxNotifications {
			q.Push(Topic{Method: "notifications/message", URI: strconv.Itoa(i)}, i)
			q.Push(Topic{Method: updated, URI: strconv.Itoa(i)}, i)
		}
		for range protocol.MaxNotifications {
			if _, _, ok := q.Pop(); !ok {
				t.Fatalf("round %d: fewer than %d waited", round, protocol.MaxNotifications)
			}
		}
		if _, _, ok := q.Pop(); ok || cap(q.items) > queueKeep || q.changes != nil {
			t.Errorf("round %d: empty, %d items' room is kept, and changes: %t", round, cap(q.items),
				q.changes != nil)
		}
	}
	q.Push(Topic{Method: updated, URI: "a"}, 1)
	q.Push(Topic{Method: updated, URI: "a"}, 2)
	if _, got, ok := q.Pop(); !ok || got != 2 || q.Len() != 0 {
		t.Errorf("after that: %d, %t, %d wait", got, ok, q.Len())
	}
}
