package pipe

import (
	"sync"

	"mcpd/transport"
)

// queueKeep is the capacity that an emptied queue keeps. Ordinary traffic has a handful of waiting
// messages and does not allocate; the memory of a burst is released.
const queueKeep = 16

// queue is one direction: messages that were sent and not received yet, in order. Its memory grows
// with the waiting messages, not with the limit.
type queue struct {
	limit int
	ready chan struct{} // holds a token when a message may be there

	mu   sync.Mutex          // guards the fields below
	ring []transport.Inbound // its length is a power of two, or zero
	head int
	n    int
	room chan struct{} // closed when there is space again; nil when no sender waits
}

func newQueue(limit int) *queue { return &queue{limit: limit, ready: make(chan struct{}, 1)} }

// offer appends in, or reports false when the queue is full.
func (q *queue) offer(in transport.Inbound) bool {
	q.mu.Lock()
	full := q.n >= q.limit
	if !full {
		q.push(in)
	}
	q.mu.Unlock()
	if !full {
		q.signal()
	}
	return !full
}

// offerOrWait appends in, or returns a channel that is closed when another try may succeed.
func (q *queue) offerOrWait(in transport.Inbound) (room <-chan struct{}) {
	q.mu.Lock()
	if q.n >= q.limit {
		defer q.mu.Unlock()
		if q.room == nil {
			q.room = make(chan struct{})
		}
		return q.room
	}
	q.push(in)
	q.mu.Unlock()
	q.signal()
	return nil
}

func (q *queue) push(in transport.Inbound) {
	if q.n == len(q.ring) {
		ring := make([]transport.Inbound, max(2, 2*q.n))
		for i := range q.n {
			ring[i] = q.ring[(q.head+i)&(q.n-1)]
		}
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = in
	q.n++
}

// take removes the oldest message, if there is one.
func (q *queue) take() (in transport.Inbound, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return in, false
	}
	in, q.ring[q.head] = q.ring[q.head], in
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if q.n > 0 {
		q.signal() // for another receiver, if there is one
	} else if len(q.ring) > queueKeep {
		q.ring, q.head = nil, 0
	}
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
	return in, true
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}
