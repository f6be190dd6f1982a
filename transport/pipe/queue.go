package pipe

import (
	"sync"

	"mcpd/transport"
)

// queueKeep is the capacity that an emptied queue keeps. Ordinary traffic has a handful of messages waiting and does not allocate; what a
// burst took is given back.
const queueKeep = 16

// queue is one direction: what was sent and not received yet, in order. It takes memory for what waits, not for what may.
type queue struct {
	limit int
	ready chan struct{} // holds a token when there may be something to take

	mu   sync.Mutex          // guards the fields below
	ring []transport.Inbound // its length is a power of two, or zero
	head int
	n    int
	room chan struct{} // closed when there is room again; nil when nobody waits for that
}

func newQueue(limit int) *queue { return &queue{limit: limit, ready: make(chan struct{}, 1)} }

// offer appends in, or reports that the queue is full.
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

// offerOrWait appends in, or returns what is closed when it is worth another try.
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

// take removes the oldest, if there is one.
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
		q.signal() // for another receiver, should there be one
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
