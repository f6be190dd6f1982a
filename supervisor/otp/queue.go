package otp

// queueKeep is the capacity that an empty queue keeps when it is trimmed. A burst's memory is given back; ordinary traffic, which has a
// handful of messages waiting, does not allocate.
const queueKeep = 64

// queue is a first-in first-out ring that takes no memory until it is used.
type queue[T any] struct {
	ring []T // its length is a power of two, or zero
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

// full: the next push needs memory.
func (q *queue[T]) full() bool { return q.n == len(q.ring) }

// front is as many of the oldest as lie side by side, at most so many. It stays as it is until they have been popped.
func (q *queue[T]) front(most int) []T {
	return q.ring[q.head:min(q.head+min(q.n, most), len(q.ring))]
}

// push adds one, and reports whether the queue has grown for it.
func (q *queue[T]) push(v T) (grown bool) {
	if grown = q.full(); grown {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = v
	q.n++
	return grown
}

// move empties the queue into another one, and leaves the ring as it is to who looks at its front.
func (q *queue[T]) move() (to queue[T]) {
	for i := range q.n {
		to.push(q.ring[(q.head+i)&(len(q.ring)-1)])
	}
	*q = queue[T]{}
	return to
}

// pop takes the oldest; it must not be called on an empty queue.
func (q *queue[T]) pop() T {
	v := q.ring[q.head]
	var none T
	q.ring[q.head] = none
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v
}

// large: there is something to trim once it is empty.
func (q *queue[T]) large() bool { return len(q.ring) > queueKeep }

// trim gives back the memory of a burst that is over.
func (q *queue[T]) trim() {
	if q.n == 0 && q.large() {
		*q = queue[T]{}
	}
}

func (q *queue[T]) grow() {
	ring := make([]T, max(4, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}
