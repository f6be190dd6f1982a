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
	question        // asks the client: it is refused rather than dropped, since somebody waits for the answer
	outcome         // answers a request: it is never refused
)

// notifies reports that nobody waits for what the event brings about.
func (w weight) notifies() bool { return w < question }

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
	at     int64  // when it was added, in nanoseconds of clock.Steady
	stream uint32 // of the connection it was given to; 0 while it is nobody's
	weight weight
	saved  bool   // it is to be on the disk
	unseen bool   // of an earlier host: whether a connection got it, nobody knows
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
	lost    uint64 // of the last outcome that is gone: the stream cannot be resumed from before it
	bytes   int    // of all entries
	waiting int    // entries that wait
	queued  int    // bytes of those
	moving  int    // of those that wait, notifications of progress
	// unsave is told of each saved event that goes; nil while none is.
	unsave func(seq uint64)
}

func newHistory() history { return history{next: 1, sent: 1} }

// add appends an event of the given stream; stream 0 means that whoever connects next gets it.
func (h *history) add(data []byte, w weight, stream uint32, now int64) {
	h.entries = append(h.entries, entry{seq: h.next, at: now, stream: stream, weight: w, data: data})
	h.next++
	h.bytes += len(data)
	h.waiting++
	h.queued += len(data)
	h.count(w, 1)
}

// count keeps the count of progress that waits.
func (h *history) count(w weight, n int) {
	if w == progress {
		h.moving += n
	}
}

// duplicate reports whether an equal hint waits already.
func (h *history) duplicate(data []byte) bool {
	return slices.ContainsFunc(h.entries[len(h.entries)-h.waiting:], func(e entry) bool {
		return e.weight == hint && bytes.Equal(e.data, data)
	})
}

// full reports that as much waits as may: where its tenant has as much as it may, nothing beside one
// event. It looks at what is there, not at what would be, so that one message of any size passes.
func (h *history) full(l *StoreOptions, tight bool) bool {
	return h.waiting >= l.StreamEvents || h.queued >= l.StreamBytes || tight && h.waiting > 0
}

// makeRoom drops waiting notifications until an event of weight w may wait too: progress first, then, unless for more of it, the oldest.
// It says how many went, and whether there is room now.
func (h *history) makeRoom(w weight, l *StoreOptions, tight bool) (dropped int, room bool) {
	if w == outcome || !h.full(l, tight) {
		return 0, true
	}
	before := h.waiting
	h.dropProgress()
	for h.full(l, tight) && w != progress {
		first := len(h.entries) - h.waiting
		i := slices.IndexFunc(h.entries[first:], func(e entry) bool { return e.weight.notifies() })
		if i < 0 {
			break
		}
		h.remove(first + i)
	}
	return before - h.waiting, !h.full(l, tight)
}

// dropProgress removes the waiting progress notifications. Their places stay empty.
func (h *history) dropProgress() {
	if h.moving == 0 { // as in a flood of anything else, with each message of it
		return
	}
	h.moving = 0
	first := len(h.entries) - h.waiting
	kept := slices.DeleteFunc(h.entries[first:], func(e entry) bool {
		if e.weight != progress {
			return false
		}
		h.forget(&e)
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
	h.count(e.weight, -1)
}

// remove takes entry i out, and says how large it was. Its place stays empty.
func (h *history) remove(i int) (size int) {
	e := h.entries[i]
	h.forget(&e)
	size = len(e.data)
	h.bytes -= size
	if e.seq >= h.sent {
		h.waiting--
		h.queued -= size
		h.count(e.weight, -1)
	}
	if e.stream != 0 && e.weight == outcome {
		h.lost = max(h.lost, e.seq)
	}
	copy(h.entries[1:i+1], h.entries[:i]) // few come before it, many after
	h.entries[0] = entry{}
	h.entries = h.entries[1:]
	if len(h.entries) == 0 {
		h.entries = nil
	}
	return size
}

// forget takes an event off the disk, if it is there.
func (h *history) forget(e *entry) {
	if e.saved {
		e.saved = false
		h.unsave(e.seq)
	}
}

// least is the index of what would be missed least: the oldest notification, else the oldest event. With a connection that still has to
// write what waits, that is no part of it. -1 when there is nothing.
func (h *history) least(attached bool) int {
	entries := h.entries
	if attached {
		entries = entries[:len(entries)-h.waiting]
	}
	if len(entries) == 0 {
		return -1
	}
	return max(0, slices.IndexFunc(entries, func(e entry) bool { return e.weight.notifies() }))
}

// replayable reports that seq was reached, and that no outcome after it is gone. Notifications may be: a client that was away for long
// is better off without them than without its answer.
func (h *history) replayable(seq uint64) bool { return seq >= h.lost && seq < h.next }
