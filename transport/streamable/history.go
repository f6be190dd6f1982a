package streamable

import (
	"bytes"
	"slices"
	"sort"
)

// importance is the importance of an event. It determines what may happen to the event while it
// waits to be written.
type importance uint8

const (
	ordinary importance = iota
	progress            // superseded by the next one, so dropped first when the queue is full
	// says only that something changed; deduplicated against waiting events with the same text
	hint
	question // asks the client: rejected rather than dropped, since a server waits for the answer
	outcome  // answers a request: never rejected
)

// notifies reports whether the event is a notification, which nothing waits for.
func (w importance) notifies() bool { return w < question }

// importances lists the notifications that are not ordinary.
var importances = map[string]importance{
	"notifications/progress":               progress,
	"notifications/prompts/list_changed":   hint,
	"notifications/resources/list_changed": hint,
	"notifications/resources/updated":      hint,
	"notifications/tools/list_changed":     hint,
}

// entry is one event of a stream.
type entry struct {
	seq uint64
	at  int64 // when it was added, in nanoseconds of clock.SteadyNanos
	// the number in its event id: of the POST stream, or of the GET that got it; 0 before
	stream      uint32
	weight      importance
	saved       bool   // it is on the disk or about to be
	unconfirmed bool   // restored from an earlier host: unknown if any connection got it
	data        []byte // the JSON text, never modified
}

// history holds the events of one stream in order: first the events that were given to a
// connection, which are stored for a resumption, then the events that wait. It is a plain value
// without locks or clock.
//
//	invariant: entries are ascending in seq; those with seq < sent were given out; every seq < next
type history struct {
	entries         []entry
	next            uint64 // sequence number of the next event
	sent            uint64 // all events with lower sequence numbers were given to a connection
	lost            uint64 // of the last dropped outcome: the stream cannot be resumed from before it
	bytes           int    // of all entries
	waiting         int    // entries that wait
	queued          int    // bytes of waiting entries
	progressWaiting int    // waiting progress notifications
	// unsave is told of each saved event that is dropped; nil while none is saved.
	unsave func(seq uint64)
}

func newHistory() history { return history{next: 1, sent: 1} }

// add appends an event for the given stream number. 0 means that the next connection gets it.
func (h *history) add(data []byte, w importance, stream uint32, now int64) {
	h.entries = append(h.entries, entry{seq: h.next, at: now, stream: stream, weight: w, data: data})
	h.next++
	h.bytes += len(data)
	h.waiting++
	h.queued += len(data)
	h.count(w, 1)
}

// count updates the number of waiting progress notifications.
func (h *history) count(w importance, n int) {
	if w == progress {
		h.progressWaiting += n
	}
}

// duplicate reports whether a waiting hint has the same text.
func (h *history) duplicate(data []byte) bool {
	return slices.ContainsFunc(h.entries[len(h.entries)-h.waiting:], func(e entry) bool {
		return e.weight == hint && bytes.Equal(e.data, data)
	})
}

// full reports whether no further event may wait. If tight is set, because the tenant has reached
// its limit, one waiting event is the limit. full checks the current state, not the state after an
// addition, so that one message of any size is accepted.
func (h *history) full(l *StoreOptions, tight bool) bool {
	return h.waiting >= l.StreamEvents || h.queued >= l.StreamBytes || tight && h.waiting > 0
}

// makeRoom drops waiting notifications until an event of weight w may wait too: first progress and
// then, unless w is progress, the oldest notifications. It returns how many were dropped, and
// whether there is room now.
func (h *history) makeRoom(w importance, l *StoreOptions, tight bool) (dropped int, room bool) {
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

// dropProgress drops the waiting progress notifications. Their sequence numbers stay unused.
func (h *history) dropProgress() {
	if h.progressWaiting == 0 { // the common case for each message of a flood of other events
		return
	}
	h.progressWaiting = 0
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

// markSent marks entry i, the first that waits, as given to the connection with the given stream
// number.
func (h *history) markSent(i int, stream uint32) {
	e := &h.entries[i]
	e.stream = stream
	h.sent = e.seq + 1
	h.waiting--
	h.queued -= len(e.data)
	h.count(e.weight, -1)
}

// remove drops entry i and returns its size. Its sequence number stays unused.
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
	copy(h.entries[1:i+1], h.entries[:i]) // few entries come before it, many after
	h.entries[0] = entry{}
	h.entries = h.entries[1:]
	if len(h.entries) == 0 {
		h.entries = nil
	}
	return size
}

// forget removes an event from the disk, if it is there.
func (h *history) forget(e *entry) {
	if e.saved {
		e.saved = false
		h.unsave(e.seq)
	}
}

// leastImportant returns the index of the least important entry: the oldest notification, or else
// the oldest event. If attached is set, entries that a connection still has to write are excluded.
// It returns -1 if there is none.
func (h *history) leastImportant(attached bool) int {
	entries := h.entries
	if attached {
		entries = entries[:len(entries)-h.waiting]
	}
	if len(entries) == 0 {
		return -1
	}
	return max(0, slices.IndexFunc(entries, func(e entry) bool { return e.weight.notifies() }))
}

// replayable reports whether a stream can be resumed after seq: seq was assigned, and no later
// outcome was dropped. Notifications may be missing: for a client that was away for long, losing
// notifications is better than losing its answer.
func (h *history) replayable(seq uint64) bool { return seq >= h.lost && seq < h.next }
