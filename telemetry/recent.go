package telemetry

import (
	"sync"
)

// RecentLen is how many events are remembered: some minutes of a host in trouble
// and hours of a quiet one, at about a hundred kilobytes.
const RecentLen = 256

// Recent is the memory of the last events. Any number of readers follow it, each
// at its own pace and by position; a slow one misses events and costs nothing.
type Recent struct {
	mu      sync.Mutex // guards what follows
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

// Since returns the events after a position (0 for all that are known), oldest
// first, the position of the first of them, and a channel that is closed when
// there are more. When first > after+1, those between were forgotten. A position
// that is not there yet is one of an earlier process: it means all.
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
