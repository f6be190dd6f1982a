package otp

// queueKeep is the capacity that an emptied queue keeps. A burst's memory is given back; ordinary traffic, which has a
// handful of messages waiting, does not allocate.
const queueKeep = 64

// queue is a first-in first-out ring that takes no memory until it is used.
type queue[T any] struct {
	ring []T // its length is a power of two, or zero
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

func (q *queue[T]) push(v T) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = v
	q.n++
}

// pop takes the oldest; it must not be called on an empty queue.
func (q *queue[T]) pop() T {
	v := q.ring[q.head]
	var none T
	q.ring[q.head] = none
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if q.n == 0 && len(q.ring) > queueKeep {
		*q = queue[T]{}
	}
	return v
}

func (q *queue[T]) grow() {
	ring := make([]T, max(4, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}
