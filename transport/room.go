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
	limit int
	wait  int     // how many may wait; 0 is any number
	owner Account // of what is in it; nil is nobody

	mu    sync.Mutex // guards what follows
	used  int
	queue []*entrant // in the order in which they came
	most  int
}

// Account is whose bytes somebody counts. Its methods return at once, and are safe for concurrent use.
type Account interface {
	// Count adds n bytes to those that the owner has, or takes them away where n is negative.
	Count(n int)
	// Fits reports whether the owner may have n bytes more.
	Fits(n int) bool
}

// entrant waits for room.
type entrant struct {
	size int
	in   chan struct{} // closed when it has it
}

// NewRoom makes a Room of so many bytes.
func NewRoom(limit int) *Room { return &Room{limit: limit} }

// Queue makes a Room of so many bytes, and so many at most who wait for some.
func Queue(limit, wait int) *Room { return &Room{limit: limit, wait: wait} }

// Counted makes a Room of so many bytes for one owner, whose account knows of all that is in it. While
// the owner may have no more, one message at a time is let in.
func Counted(limit int, owner Account) *Room { return &Room{limit: limit, owner: owner} }

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
	if r.owner != nil && r.used != before {
		r.owner.Count(r.used - before)
	}
}

// fits reports whether there is room. One message fits an empty room, whatever its size.
func (r *Room) fits(size int) bool {
	return r.used <= 0 || r.used+size <= r.limit && (r.owner == nil || r.owner.Fits(size))
}

// take waits until there is room, or ctx ends, and counts size. Where too many wait already it is
// ErrSlowConsumer.
func (r *Room) take(ctx context.Context, size int) error {
	r.mu.Lock()
	if len(r.queue) == 0 && r.fits(size) {
		r.add(size)
		r.mu.Unlock()
		return nil
	}
	if r.wait > 0 && len(r.queue) >= r.wait {
		r.mu.Unlock()
		return ErrSlowConsumer
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
