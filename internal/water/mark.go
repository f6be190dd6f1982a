// Package water keeps high-water marks: how full a queue ever was. It does not know what a queue is.
package water

import "sync/atomic"

// Mark is the highest value that was noted. The zero Mark is at 0, and a nil one takes no note. It is safe for concurrent use, and noting
// what is no record is one load.
type Mark struct{ most atomic.Int64 }

// Note takes note of a depth.
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

// Most is the highest depth that was noted.
func (m *Mark) Most() int { return int(m.most.Load()) }
