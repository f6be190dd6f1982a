package subscription

import (
	"iter"
	"maps"
	"slices"
)

// Table records the subscriptions of all subscribers. S is a subscriber, for example the key of a
// session or a handler. Table is not safe for concurrent use. The zero Table is empty and ready to
// use.
//
// A subscriber takes the memory of its key and 20 bytes for each of its topics, plus the spare
// capacity of slices and maps.
type Table[S comparable] struct {
	topics map[Topic]*topic
	index  map[S]int32
	slots  []slot[S]
	free   []int32
	round  uint32 // number of the current Match, so that it yields no subscriber twice
}

// topic is a topic that has subscribers. Members holds the indexes of their slots, in no order.
type topic struct {
	name    Topic
	members []int32
}

// slot is a subscriber.
type slot[S comparable] struct {
	who  S
	seen uint32 // the Match that last yielded the subscriber
	refs []ref
}

// ref is the position of the subscriber in the members of a topic.
type ref struct {
	topic *topic
	at    int32
}

// Subscribe subscribes who to the topic. It reports whether the topic had no subscriber before; the
// caller then has to subscribe at the server. A repeated subscription has no effect.
func (t *Table[S]) Subscribe(who S, to Topic) (first bool) {
	at, ok := t.index[who]
	if !ok {
		at = t.add(who)
	}
	s := &t.slots[at]
	if slices.ContainsFunc(s.refs, func(r ref) bool { return r.topic.name == to }) {
		return false
	}
	tp, ok := t.topics[to]
	if !ok {
		if t.topics == nil {
			t.topics = make(map[Topic]*topic)
		}
		tp = &topic{name: to}
		t.topics[to] = tp
	}
	s.refs = append(s.refs, ref{tp, int32(len(tp.members))})
	tp.members = append(tp.members, at)
	return !ok
}

func (t *Table[S]) add(who S) int32 {
	if t.index == nil {
		t.index = make(map[S]int32)
	}
	var at int32
	if n := len(t.free); n > 0 {
		at, t.free = t.free[n-1], t.free[:n-1]
	} else {
		at = int32(len(t.slots))
		t.slots = append(t.slots, slot[S]{})
	}
	t.slots[at] = slot[S]{who: who, refs: t.slots[at].refs[:0]}
	t.index[who] = at
	return at
}

// Unsubscribe removes one subscription. It reports whether the subscription existed, and whether it
// was the last of the topic.
func (t *Table[S]) Unsubscribe(who S, from Topic) (was, last bool) {
	at, ok := t.index[who]
	if !ok {
		return false, false
	}
	s := &t.slots[at]
	i := slices.IndexFunc(s.refs, func(r ref) bool { return r.topic.name == from })
	if i < 0 {
		return false, false
	}
	last = t.leave(s.refs[i])
	s.refs = slices.Delete(s.refs, i, i+1)
	if len(s.refs) == 0 {
		t.remove(who, at)
	}
	return true, last
}

// Drop removes all subscriptions of a subscriber. It returns the topics that have no subscriber any
// more.
func (t *Table[S]) Drop(who S) (unwanted []Topic) {
	at, ok := t.index[who]
	if !ok {
		return nil
	}
	for _, r := range t.slots[at].refs {
		if t.leave(r) {
			unwanted = append(unwanted, r.topic.name)
		}
	}
	t.remove(who, at)
	return unwanted
}

// leave removes a member from its topic. The last member takes its place, and its ref is updated.
func (t *Table[S]) leave(r ref) (last bool) {
	members := r.topic.members
	end := int32(len(members) - 1)
	if r.at != end {
		moved := members[end]
		members[r.at] = moved
		refs := t.slots[moved].refs
		refs[slices.IndexFunc(refs, func(m ref) bool { return m.topic == r.topic })].at = r.at
	}
	r.topic.members = members[:end]
	if end == 0 {
		delete(t.topics, r.topic.name)
	}
	return end == 0
}

func (t *Table[S]) remove(who S, at int32) {
	// Maps and slices keep their capacity, so the last subscriber resets the table to free the memory.
	if delete(t.index, who); len(t.index) == 0 {
		*t = Table[S]{round: t.round}
		return
	}
	refs := t.slots[at].refs
	clear(refs)
	t.slots[at] = slot[S]{refs: refs[:0]}
	t.free = append(t.free, at)
}

// All iterates over the subscribers, in the order of their slots. The table must not change during
// the iteration.
func (t *Table[S]) All() iter.Seq[S] {
	return func(yield func(S) bool) {
		for _, s := range t.slots {
			if len(s.refs) > 0 && !yield(s.who) {
				return
			}
		}
	}
}

// Match iterates over the subscribers of a notification, which may be about several topics. It
// yields each subscriber once, in no order. Its cost is proportional to the subscribers found. The
// table must not change during the iteration.
func (t *Table[S]) Match(about Topic, several ...Topic) iter.Seq[S] {
	return func(yield func(S) bool) {
		t.round++
		// After 2^32 rounds no subscriber may count as seen.
		if t.round == 0 {
			for i := range t.slots {
				t.slots[i].seen = 0
			}
			t.round = 1
		}
		if !t.find(about, yield) {
			return
		}
		for _, about := range several {
			if !t.find(about, yield) {
				return
			}
		}
	}
}

// find yields the subscribers of a topic that this round has not yielded yet. It reports whether to
// continue.
func (t *Table[S]) find(about Topic, yield func(S) bool) bool {
	for name := range about.covering() {
		tp, ok := t.topics[name]
		if !ok {
			continue
		}
		for _, at := range tp.members {
			s := &t.slots[at]
			if s.seen == t.round {
				continue
			}
			s.seen = t.round
			if !yield(s.who) {
				return false
			}
		}
	}
	return true
}

// Has reports whether who has any subscription.
func (t *Table[S]) Has(who S) bool {
	_, has := t.index[who]
	return has
}

// Topics lists the topics of a subscriber, in the order of its subscriptions.
func (t *Table[S]) Topics(who S) []Topic {
	at, ok := t.index[who]
	if !ok {
		return nil
	}
	list := make([]Topic, 0, len(t.slots[at].refs))
	for _, r := range t.slots[at].refs {
		list = append(list, r.topic.name)
	}
	return list
}

// Wanted iterates over the topics that have subscribers, in order, with the number of subscribers.
// A caller uses it to subscribe again after a reconnect.
func (t *Table[S]) Wanted() iter.Seq2[Topic, int] {
	return func(yield func(Topic, int) bool) {
		for _, name := range slices.SortedFunc(maps.Keys(t.topics), Topic.Compare) {
			if tp, still := t.topics[name]; still && !yield(name, len(tp.members)) {
				return
			}
		}
	}
}

// Len is the number of subscribers.
func (t *Table[S]) Len() int { return len(t.index) }
