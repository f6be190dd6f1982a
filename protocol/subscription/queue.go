package subscription

import "mcpd/protocol"

// Queue buffers notifications until they are dispatched. The zero Queue is empty and ready to use.
// It is not safe for concurrent use.
//
// A queue deduplicates notifications that only announce a change of the same topic over the same
// connection: a later one replaces the earlier one in its place. If the queue is full, a change
// evicts the oldest notification that is not a change. Other notifications are dropped then. A lost
// log message is tolerable, while a lost change leaves the client with an outdated list.
type Queue[T any] struct {
	Limit int         // maximal number of notifications; 0 for protocol.MaxNotifications, 1000
	Size  func(T) int // bytes that a notification takes; nil to count no bytes

	items   []item[T] // those before first are gone
	first   int
	base    int           // number of items that were ever before items[0]
	live    int           // items still to pop
	changes map[Topic]int // position of each queued change, counted from the first item ever
	dropped uint64
	bytes   int // bytes of the items still to pop
}

type item[T any] struct {
	about   Topic
	value   T
	evicted bool // evicted
}

// IsChange reports whether a notification with that method only announces a change, so that one of
// several is enough.
func IsChange(method string) bool {
	return ListChanged(method) || method == updated || method == Quarantined
}

// Push adds a notification. It returns false if the queue is full and dropped the notification.
func (q *Queue[T]) Push(about Topic, value T) bool {
	change := IsChange(about.Method)
	if at, ok := q.changes[about]; ok {
		q.bytes += q.size(value) - q.size(q.items[at-q.base].value)
		q.items[at-q.base].value = value
		return true
	}
	limit := q.Limit
	if limit == 0 {
		limit = protocol.MaxNotifications
	}
	if q.live >= limit && !(change && q.evict()) {
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

// evict evicts the oldest notification that is not a change.
func (q *Queue[T]) evict() bool {
	for i := q.first; i < len(q.items); i++ {
		if it := &q.items[i]; !it.evicted && !IsChange(it.about.Method) {
			q.bytes -= q.size(it.value)
			*it = item[T]{evicted: true}
			q.live--
			q.dropped++
			return true
		}
	}
	return false
}

// Pop removes and returns the oldest notification. It returns false if the queue is empty.
func (q *Queue[T]) Pop() (about Topic, value T, ok bool) {
	for q.first < len(q.items) {
		it := q.items[q.first]
		q.items[q.first] = item[T]{}
		q.first++
		if it.evicted {
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

// queueKeep is the number of items whose capacity an empty queue keeps. Larger buffers, left by a
// flood, are freed. With ordinary traffic the queue does not allocate.
const queueKeep = 64

// compact moves the items to the front when more than half of the slice is unused.
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

// Bytes is the number of bytes of the queued notifications.
func (q *Queue[T]) Bytes() int { return q.bytes }

// Len is the number of queued notifications.
func (q *Queue[T]) Len() int { return q.live }

// Dropped is the number of notifications that were dropped or evicted so far.
func (q *Queue[T]) Dropped() uint64 { return q.dropped }
