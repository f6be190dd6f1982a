package subscription

import "mcpd/protocol"

// Queue holds notifications until they are dispatched, at most Limit of them (S4-65). The zero Queue is empty and ready.
//
// Two notifications of one connection that only say that something changed are one: the later takes the earlier's place. When the queue is
// full they displace the oldest of the others, since a lost log line is a nuisance and a lost change a wrong list.
type Queue[T any] struct {
	Limit int         // 0 for protocol.MaxNotifications
	Size  func(T) int // how many bytes one keeps; nil for none

	items   []item[T] // those before first are gone
	first   int
	base    int           // how many were ever before items[0]
	live    int           // items that are still to come
	changes map[Topic]int // place of each queued change, counted from the beginning
	dropped uint64
	bytes   int // of those that are still to come
}

type item[T any] struct {
	about Topic
	value T
	gone  bool // displaced
}

// Change reports that a notification of that method only says that something changed, so that one of several is enough.
func Change(method string) bool {
	return ListChanged(method) || method == updated || method == Quarantined
}

// Push adds a notification. It reports false when the queue is full and this one was dropped.
func (q *Queue[T]) Push(about Topic, value T) bool {
	change := Change(about.Method)
	if at, ok := q.changes[about]; ok {
		q.bytes += q.size(value) - q.size(q.items[at-q.base].value)
		q.items[at-q.base].value = value
		return true
	}
	limit := q.Limit
	if limit == 0 {
		limit = protocol.MaxNotifications
	}
	if q.live >= limit && !(change && q.displace()) {
		q.dropped++
		return false
	}
	if change {
		if q.changes == nil {
			q.changes = make(map[Topic]int)
		}
		q.changes[about] = q.base + len(q.items)
	}
	q.items = append(q.items, item[T]{about: about, value: value})
	q.live++
	q.bytes += q.size(value)
	return true
}

// displace drops the oldest notification that is not a change.
func (q *Queue[T]) displace() bool {
	for i := q.first; i < len(q.items); i++ {
		if it := &q.items[i]; !it.gone && !Change(it.about.Method) {
			q.bytes -= q.size(it.value)
			*it = item[T]{gone: true}
			q.live--
			q.dropped++
			return true
		}
	}
	return false
}

// Pop takes the oldest notification.
func (q *Queue[T]) Pop() (about Topic, value T, ok bool) {
	for q.first < len(q.items) {
		it := q.items[q.first]
		q.items[q.first] = item[T]{}
		q.first++
		if it.gone {
			continue
		}
		q.live--
		q.bytes -= q.size(it.value)
		delete(q.changes, it.about)
		q.compact()
		return it.about, it.value, true
	}
	q.compact()
	return about, value, false
}

// queueKeep is how many items' room an empty queue keeps. What a flood has filled is given back; ordinary traffic, of which a few wait, does not
// allocate.
const queueKeep = 64

// compact moves the rest down once half of the slice is gone.
func (q *Queue[T]) compact() {
	if q.first <= len(q.items)/2 {
		return
	}
	n := copy(q.items, q.items[q.first:])
	clear(q.items[n:])
	q.items = q.items[:n]
	q.base += q.first
	q.first = 0
	if n == 0 && cap(q.items) > queueKeep {
		q.items, q.changes = nil, nil
	}
}

func (q *Queue[T]) size(value T) int {
	if q.Size == nil {
		return 0
	}
	return q.Size(value)
}

// Bytes is how many bytes the notifications keep that are queued.
func (q *Queue[T]) Bytes() int { return q.bytes }

// Len is how many notifications are queued.
func (q *Queue[T]) Len() int { return q.live }

// Dropped is how many were dropped so far.
func (q *Queue[T]) Dropped() uint64 { return q.dropped }
