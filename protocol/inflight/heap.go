package inflight

import "cmp"

// heap is the requests in flight by deadline, the earliest first. Each entry knows its place, so that it can be moved.
type heap[K cmp.Ordered, O any] []*entry[K, O]

func (h heap[K, O]) less(i, j int) bool { return h[i].Deadline.Before(h[j].Deadline) }

func (h heap[K, O]) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *heap[K, O]) push(e *entry[K, O]) {
	e.index = len(*h)
	*h = append(*h, e)
	h.up(e.index)
}

func (h *heap[K, O]) remove(i int) {
	last := len(*h) - 1
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	if i < last {
		h.fix(i)
	}
}

// fix restores the order after the deadline at i has changed.
func (h heap[K, O]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h heap[K, O]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h heap[K, O]) down(i int) (moved bool) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return moved
		}
		if right := child + 1; right < len(h) && h.less(right, child) {
			child = right
		}
		if !h.less(child, i) {
			return moved
		}
		h.swap(i, child)
		i, moved = child, true
	}
}
