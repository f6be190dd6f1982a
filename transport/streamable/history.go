package streamable

import (
	"bytes"
	"slices"
	"sort"
)

// weight says what may happen to an event that waits to be written.
type weight uint8

const (
	ordinary weight = iota
	progress        // the next one supersedes it, so it goes first when the queue is full
	hint            // says only that something changed, so one of equal text that waits already is enough
	outcome         // answers a request: it is never refused
)

// weights names the notifications that are not ordinary.
var weights = map[string]weight{
	"notifications/progress":               progress,
	"notifications/prompts/list_changed":   hint,
	"notifications/resources/list_changed": hint,
	"notifications/resources/updated":      hint,
	"notifications/tools/list_changed":     hint,
}

// entry is one event of a stream.
type entry struct {
	seq    uint64
	at     int64  // when it was added, in Unix nanoseconds
	stream uint32 // of the connection it was given to; 0 while it is nobody's
	weight weight
	data   []byte // the JSON text, never changed
}

// history holds the events of one stream in order: those that were given to a connection, kept for a resumption, and behind them those
// that wait. It is a value without locks or clock.
//
//	invariant: entries are ascending in seq; those with seq < sent were given out; every seq < next
type history struct {
	entries []entry
	next    uint64 // of the next event
	sent    uint64 // of the first event that waits
	lost    uint64 // of the last event that a client may miss: it belonged to a stream and is gone
	bytes   int    // of all entries
	waiting int    // entries that wait
	queued  int    // bytes of those
}

func newHistory() history { return history{next: 1, sent: 1} }

// add appends an event of the given stream; stream 0 means that whoever connects next gets it.
func (h *history) add(data []byte, w weight, stream uint32, now int64) {
	h.entries = append(h.entries, entry{h.next, now, stream, w, data})
	h.next++
	h.bytes += len(data)
	h.waiting++
	h.queued += len(data)
}

// duplicate reports whether an equal hint waits already.
func (h *history) duplicate(data []byte) bool {
	return slices.ContainsFunc(h.entries[len(h.entries)-h.waiting:], func(e entry) bool {
		return e.weight == hint && bytes.Equal(e.data, data)
	})
}

// full reports that as much waits as may. It looks at what is there, not at what would be, so that one message of any size passes.
func (h *history) full(l *StoreOptions) bool {
	return h.waiting >= l.StreamEvents || h.queued >= l.StreamBytes
}

// dropProgress removes the waiting progress notifications. Their places stay empty.
func (h *history) dropProgress() {
	first := len(h.entries) - h.waiting
	kept := slices.DeleteFunc(h.entries[first:], func(e entry) bool {
		if e.weight != progress {
			return false
		}
		h.bytes -= len(e.data)
		h.queued -= len(e.data)
		h.waiting--
		return true
	})
	h.entries = h.entries[:first+len(kept)]
}

// from returns the index of the first entry at or after seq.
func (h *history) from(seq uint64) int {
	return sort.Search(len(h.entries), func(i int) bool { return h.entries[i].seq >= seq })
}

// give marks entry i, the first that waits, as given to a connection of stream.
func (h *history) give(i int, stream uint32) {
	e := &h.entries[i]
	e.stream = stream
	h.sent = e.seq + 1
	h.waiting--
	h.queued -= len(e.data)
}

// drop removes the oldest entry.
func (h *history) drop() (size int) {
	e := h.entries[0]
	size = len(e.data)
	h.bytes -= size
	if e.seq >= h.sent {
		h.waiting--
		h.queued -= size
		h.sent = e.seq + 1
	}
	if e.stream != 0 {
		h.lost = e.seq
	}
	h.entries[0] = entry{}
	h.entries = h.entries[1:]
	if len(h.entries) == 0 {
		h.entries = nil
	}
	return size
}

// droppable reports that there is an oldest entry and that no connection still has to write it.
func (h *history) droppable(attached bool) bool {
	return len(h.entries) > 0 && (!attached || h.entries[0].seq < h.sent)
}

// replayable reports that nothing after seq was lost, and that seq was reached at all.
func (h *history) replayable(seq uint64) bool { return seq >= h.lost && seq < h.next }
