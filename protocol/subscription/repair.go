package subscription

import (
	"maps"
	"slices"

	"mcpd/protocol"
)

// Repair makes the table sound again after its owner crashed in the midst of a change. A subscription that either of its two indices still has
// goes on; it says how many subscribers are none.
func (t *Table[S]) Repair(sound func(S) bool) (dropped int) {
	old := *t
	*t = Table[S]{}
	none := map[int32]bool{}
	keep := func(at int32, topic Topic) {
		if at < 0 || int(at) >= len(old.slots) || topic == (Topic{}) {
			return
		}
		who := old.slots[at].who
		if in, ok := old.index[who]; !sound(who) || ok && in != at { // else a slot of two subscribers
			if !none[at] {
				none[at] = true
				dropped++
			}
			return
		}
		t.Subscribe(who, topic)
	}
	for at, s := range old.slots {
		for _, r := range s.refs {
			if r.topic != nil {
				keep(int32(at), r.topic.name)
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(old.topics), Topic.Compare) {
		tp := old.topics[name]
		if tp == nil {
			continue
		}
		for _, at := range tp.members {
			keep(at, name)
		}
	}
	return dropped
}

// Repair makes the queue sound again, in its order, and says how many notifications it had to drop.
func (q *Queue[T]) Repair(sound func(T) bool) (dropped int) {
	old := *q
	*q = Queue[T]{Limit: min(max(old.Limit, 0), protocol.MaxNotifications), dropped: old.dropped, Size: old.Size}
	for _, it := range old.items[min(max(old.first, 0), len(old.items)):] {
		if it.gone {
			continue
		}
		if it.about.Method == "" || !sound(it.value) || !q.Push(it.about, it.value) {
			dropped++
		}
	}
	return dropped
}
