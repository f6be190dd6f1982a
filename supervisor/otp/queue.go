package otp

// queueKeep is the capacity that an empty queue keeps when it is trimmed. The memory of a burst is
// freed, and ordinary traffic with a handful of waiting messages does not allocate.
const queueKeep = 64

// queue is a first-in first-out ring buffer. It takes no memory until it is used.
type queue[T any] struct {
	ring []T // its length is a power of two, or zero
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

// full reports whether the next push must allocate.
func (q *queue[T]) full() bool { return q.n == len(q.ring) }

// front returns the oldest elements that are contiguous in the ring, no more than most. The slice
// does not change until the elements are popped.
func (q *queue[T]) front(most int) []T {
	return q.ring[q.head:min(q.head+min(q.n, most), len(q.ring))]
}

// push adds an element and reports whether the queue has grown.
func (q *queue[T]) push(v T) (grown bool) {
	if grown = q.full(); grown {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = v
	q.n++
	return grown
}

// move empties the queue into a new one. The old ring keeps its contents, for code that still reads
// a slice from front.
func (q *queue[T]) move() (to queue[T]) {
	for i := range q.n {
		to.push(q.ring[(q.head+i)&(len(q.ring)-1)])
	}
	*q = queue[T]{}
	return to
}

// pop removes and returns the oldest element. It must not be called on an empty queue.
func (q *queue[T]) pop() T {
	v := q.ring[q.head]
	var none T
	q.ring[q.head] = none
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v
}

// large reports whether trim has something to free once the queue is empty.
func (q *queue[T]) large() bool { return len(q.ring) > queueKeep }

// trim frees the memory of a burst once the queue is empty.
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
