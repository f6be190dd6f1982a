package transport

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Large is the size from which a message needs room. Smaller ones are bounded well enough by their number.
const Large = 64 << 10

// ownerPoll is how often who waits for room asks whether its owner may have more by now.
const ownerPoll = 100 * time.Millisecond

// Room bounds the bytes of large messages that are somewhere at once: of a tenant's servers, until its clients have read them, or of
// clients, until the host has. Who sends one that finds no room is not read until there is some, so that he waits and nobody else does.
//
// A message counts as much as its buffer has grown to, not what it may become, so one that stops
// half-way holds little. Messages that have begun could then all wait for each other: so one of them
// at a time, the first that finds no room, has an overdraft and grows as far as it must, if the
// owner may have one. A Room therefore holds its limit and one message at most.
//
// A nil Room has no bound. It is safe for concurrent use.
type Room struct {
	limit int
	wait  int     // how many may wait; 0 is any number
	owner Account // of what is in it; nil is nobody

	mu    sync.Mutex // guards what follows
	used  int
	queue []*entrant // who wait to begin a message, in the order in which they came
	grow  []*entrant // who have begun one, and wait for more
	over  bool       // one of those has the overdraft
	most  int
}

// Account is whose bytes somebody counts. Its methods return at once, and are safe for concurrent use.
type Account interface {
	// Count adds n bytes to those that the owner has, or takes them away where n is negative.
	Count(n int)
	// Fits reports whether the owner may have n bytes more.
	Fits(n int) bool
	// Beyond reports whether one message of the owner may grow as far as it must, whatever Fits says,
	// where used bytes of the owner are in the Room. Within says that it does no more.
	Beyond(used int, now time.Time) bool
	Within()
	// Grows reports whether that message still may: it may not where another owner's does since.
	Grows(now time.Time) bool
}

// entrant waits for room.
type entrant struct {
	size int
	over bool          // it has the overdraft; set before in is closed
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

// Try counts bytes of something that may last longer than a message, if half of the room is left to
// messages then, and reports whether it did. Add lets go of them.
func (r *Room) Try(size int) bool {
	if r == nil || size == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used+size > r.limit/2 || r.owner != nil && !r.owner.Fits(size) {
		return false
	}
	r.add(size)
	return true
}

// add counts bytes, and lets in who has room after that, one after the other.
func (r *Room) add(size int) {
	r.count(size)
	r.grow = slices.DeleteFunc(r.grow, r.grows)
	for len(r.queue) > 0 && r.fits(r.queue[0].size) {
		first := r.queue[0]
		r.queue = r.queue[1:]
		r.count(first.size)
		close(first.in)
	}
	if len(r.queue) == 0 {
		r.queue = nil
	}
}

// count counts bytes at once for the owner, too, who is asked whether the next ones fit.
func (r *Room) count(size int) {
	r.used += size
	r.most = max(r.most, r.used)
	if r.owner != nil && size != 0 {
		r.owner.Count(size)
	}
}

// grows lets a message grow that fits, or that can have the overdraft, and reports whether it did.
func (r *Room) grows(e *entrant) bool {
	if !r.fits(e.size) {
		if r.over || r.owner != nil && !r.owner.Beyond(r.used, time.Now()) {
			return false
		}
		r.over, e.over = true, true
	}
	r.count(e.size)
	close(e.in)
	return true
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
	e := &entrant{size: size, in: make(chan struct{})}
	r.queue = append(r.queue, e)
	r.mu.Unlock()
	return r.await(ctx, e)
}

// more waits until a message that has begun has room for size bytes more, and reports whether it has
// the overdraft for that.
func (r *Room) more(ctx context.Context, size int) (over bool, err error) {
	e := &entrant{size: size, in: make(chan struct{})}
	r.mu.Lock()
	r.grow = append(r.grow, e)
	r.add(0)
	r.mu.Unlock()
	err = r.await(ctx, e)
	return e.over && err == nil, err
}

// further is more for the message that has the overdraft. It asks anew where the owner has lost
// that, because the message was long in growing.
func (r *Room) further(ctx context.Context, size int) (over bool, err error) {
	r.mu.Lock()
	if r.owner == nil || r.owner.Grows(time.Now()) {
		r.add(size)
		r.mu.Unlock()
		return true, nil
	}
	r.within(true)
	r.mu.Unlock()
	return r.more(ctx, size)
}

// await waits until e is let in, or ctx ends. Nobody tells when the owner may have more again, because
// of what other rooms or owners let go, so it asks.
func (r *Room) await(ctx context.Context, e *entrant) error {
	var again <-chan time.Time
	if r.owner != nil {
		ticks := time.NewTicker(ownerPoll)
		defer ticks.Stop()
		again = ticks.C
	}
	for ctx.Err() == nil {
		select {
		case <-e.in:
			return nil
		case <-again:
			r.mu.Lock()
			r.add(0)
			r.mu.Unlock()
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-e.in: // meanwhile
		r.within(e.over)
		r.add(-e.size)
	default:
		same := func(other *entrant) bool { return other == e }
		r.queue, r.grow = slices.DeleteFunc(r.queue, same), slices.DeleteFunc(r.grow, same)
		r.add(0) // the next one may be smaller
	}
	return context.Cause(ctx)
}

// free lets go of a message's bytes, and of the overdraft if it has that.
func (r *Room) free(size int, over bool) {
	if r == nil || size == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.within(over)
	r.add(-size)
}

// within gives back the overdraft of a message that has it.
func (r *Room) within(over bool) {
	if over {
		if r.over = false; r.owner != nil {
			r.owner.Within()
		}
	}
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
	over bool // it has the overdraft of the room
}

// NewHold makes the Hold of a reader.
func NewHold(r *Room) Hold { return Hold{room: r} }

// Take waits until the message has room for size bytes in all, unless it has that. When ctx ends
// before, it keeps what it had.
func (h *Hold) Take(ctx context.Context, size int) (err error) {
	switch more := size - h.size; {
	case h.room == nil || more <= 0:
		return nil
	case h.size == 0:
		err = h.room.take(ctx, size)
	case h.over:
		h.over, err = h.room.further(ctx, more)
	default:
		h.over, err = h.room.more(ctx, more)
	}
	if err == nil {
		h.size = size
	}
	return err
}

// Free lets go of it. It is idempotent.
func (h *Hold) Free() {
	h.room.free(h.size, h.over)
	h.size, h.over = 0, false
}
