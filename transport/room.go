package transport

import (
	"context"
	"sync"
)

// Large is the size from which a message needs room. Smaller ones are bounded well enough by their number.
const Large = 64 << 10

// Room bounds the bytes of large messages that are somewhere at once: of a tenant's servers, until its clients have read them, or of
// clients, until the host has. Who sends one that finds no room is not read until there is some, so that he waits and nobody else does.
// A nil Room has no bound. It is safe for concurrent use.
type Room struct {
	limit   int
	counted func(bytes int) // is told of each change of used; nil is nobody

	mu    sync.Mutex // guards what follows
	used  int
	owed  int        // of it, what Settle gives back
	queue []*entrant // in the order in which they came
	most  int
}

// entrant waits for room.
type entrant struct {
	size int
	in   chan struct{} // closed when it has it
}

// NewRoom makes a Room of so many bytes.
func NewRoom(limit int) *Room { return &Room{limit: limit} }

// Counted makes a Room of so many bytes that tells somebody of all that is let in and out, without
// waiting.
func Counted(limit int, by func(bytes int)) *Room { return &Room{limit: limit, counted: by} }

// Add counts bytes that are there already, and with a negative size lets go of them.
func (r *Room) Add(size int) {
	if r == nil || size == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(size)
}

func (r *Room) add(size int) {
	before := r.used
	r.used += size
	for len(r.queue) > 0 && r.fits(r.queue[0].size) {
		first := r.queue[0]
		r.queue = r.queue[1:]
		r.used += first.size
		close(first.in)
	}
	if len(r.queue) == 0 {
		r.queue = nil
	}
	r.most = max(r.most, r.used)
	if r.counted != nil && r.used != before {
		r.counted(r.used - before)
	}
}

// fits reports whether there is room. One message fits an empty room, whatever its size.
func (r *Room) fits(size int) bool { return r.used <= 0 || r.used+size <= r.limit }

// take waits until there is room, or ctx ends, and counts size.
func (r *Room) take(ctx context.Context, size int) error {
	r.mu.Lock()
	if len(r.queue) == 0 && r.fits(size) {
		r.add(size)
		r.mu.Unlock()
		return nil
	}
	e := &entrant{size, make(chan struct{})}
	r.queue = append(r.queue, e)
	r.mu.Unlock()
	select {
	case <-e.in:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.queue {
		if other == e {
			r.queue = append(r.queue[:i:i], r.queue[i+1:]...)
			r.add(0) // the next one may be smaller
			return context.Cause(ctx)
		}
	}
	r.add(-size) // it was let in meanwhile
	return context.Cause(ctx)
}

// Settle gives back what was left in the Room.
func (r *Room) Settle() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	owed := r.owed
	r.owed = 0
	r.add(-owed)
}

// Share is what one message of that size can have of the Room's limit.
func (r *Room) Share(size int) int {
	if r == nil {
		return size
	}
	return min(size, r.limit)
}

// Used is how many bytes are counted now, and Most how many ever were.
func (r *Room) Used() (now, most int) {
	if r == nil {
		return 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used, r.most
}

// Hold is the room of one who reads messages, for the one in hand: from when that proves to be large until it is somebody else's. The
// zero Hold is of a Room without bound. It is for one goroutine.
type Hold struct {
	room *Room
	size int
}

// NewHold makes the Hold of a reader.
func NewHold(r *Room) Hold { return Hold{room: r} }

// Take waits for room for a message of at most size bytes, unless it has some.
func (h *Hold) Take(ctx context.Context, size int) error {
	if h.room == nil || h.size > 0 {
		return nil
	}
	if err := h.room.take(ctx, size); err != nil {
		return err
	}
	h.size = size
	return nil
}

// Free lets go of it. It is idempotent.
func (h *Hold) Free() {
	h.room.Add(-h.size)
	h.size = 0
}

// Leave ends the Hold, but size bytes of what it has stay counted until the Room is settled.
func (h *Hold) Leave(size int) {
	if h.size == 0 {
		return
	}
	h.room.mu.Lock()
	defer h.room.mu.Unlock()
	h.room.owed += size
	h.room.add(size - h.size)
	h.size = 0
}
