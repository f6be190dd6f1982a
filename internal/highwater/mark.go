// Package highwater keeps high-water marks, such as the greatest length of a queue.
package highwater

import "sync/atomic"

// Mark is the highest value that was noted. The zero Mark is at 0, and a nil Mark ignores notes. It
// is safe for concurrent use. A note that is no new maximum costs one atomic load.
type Mark struct{ most atomic.Int64 }

// Note notes a depth.
func (m *Mark) Note(depth int) {
	if m == nil {
		return
	}
	for {
		most := m.most.Load()
		if int64(depth) <= most || m.most.CompareAndSwap(most, int64(depth)) {
			return
		}
	}
}

// Most returns the highest depth that was noted.
func (m *Mark) Most() int { return int(m.most.Load()) }
