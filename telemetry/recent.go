package telemetry

import (
	"sync"
)

// RecentLen is how many events are remembered. They cover some minutes of a host in trouble and
// hours of a quiet one, and take about a hundred kilobytes.
const RecentLen = 256

// Recent holds the last events. Any number of readers follow it by position, each at its own
// pace. A slow reader misses events and costs nothing.
type Recent struct {
	mu      sync.Mutex // guards the fields below
	ring    [RecentLen]Record
	next    uint64        // position of the next event; the first is 1
	changed chan struct{} // closed at the next event
}

func newRecent() *Recent {
	return &Recent{next: 1, changed: make(chan struct{})}
}

func (r *Recent) add(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring[r.next%RecentLen] = rec
	r.next++
	close(r.changed)
	r.changed = make(chan struct{})
}

// Since returns the events after a position, oldest first. Position 0 returns all remembered
// events. First is the position of the first of them, and more is closed when there are new ones.
// If first > after+1, the events in between were forgotten. A position in the future comes from
// an earlier process, and counts as 0.
func (r *Recent) Since(after uint64) (records []Record, first uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after >= r.next {
		after = 0
	}
	first = after + 1
	if r.next > RecentLen {
		first = max(first, r.next-RecentLen)
	}
	for at := first; at < r.next; at++ {
		records = append(records, r.ring[at%RecentLen])
	}
	return records, first, r.changed
}

// Changed returns a channel that is closed at the next event.
func (r *Recent) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}
