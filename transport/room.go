package transport

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Large is the size in bytes from which a message needs room. The number of smaller messages is
// bounded, which is enough.
const Large = 64 << 10

// ownerPoll is how often a waiting reader asks whether the owner may have more bytes by now.
const ownerPoll = 100 * time.Millisecond

// ByteBudget is a byte budget for the large messages that are in memory at once: those of a
// tenant's servers, until its clients have read them, or those of clients, until the host has. A
// peer whose message finds no room is not read until there is some, so that it waits and no other
// peer does.
//
// A message counts with the size to which its buffer has grown, not with the size that it may
// reach, so a message that stops half-way holds little. Messages that have begun could then all
// wait for each other. Therefore one of them at a time, the first that finds no room, has an
// overdraft and grows as far as it must, if the owner may have one. So a ByteBudget holds at most
// its limit and one message.
//
// A nil ByteBudget has no bound. A ByteBudget is safe for concurrent use.
type ByteBudget struct {
	limit int
	wait  int     // how many readers may wait; 0 is any number
	owner Account // the account that its bytes count for; nil is none

	mu        sync.Mutex // guards what follows
	used      int
	queue     []*waiter // readers that wait to begin a message, in order of arrival
	grow      []*waiter // readers that have begun one, and wait for more
	over      bool      // one of those has the overdraft
	highWater int
}

// Account counts the bytes of one owner. Its methods return at once, and are safe for concurrent
// use.
type Account interface {
	// Count adds n bytes to those of the owner; a negative n removes them.
	Count(n int)
	// Fits reports whether the owner may have n more bytes.
	Fits(n int) bool
	// MayExceed reports whether one message of the owner may grow as far as it must, whatever Fits
	// says; used is the number of the owner's bytes in the ByteBudget. Within ends that permission.
	MayExceed(used int, now time.Time) bool
	EndExcess()
	// MayGrow reports whether that message may still grow. It may not when the message of another
	// owner has got the permission since.
	MayGrow(now time.Time) bool
}

// waiter is a reader that waits for room.
type waiter struct {
	size int
	over bool          // it has the overdraft; set before in is closed
	in   chan struct{} // closed when it has the room
}

// NewByteBudget makes a ByteBudget of limit bytes.
func NewByteBudget(limit int) *ByteBudget { return &ByteBudget{limit: limit} }

// NewQueuedBudget makes a ByteBudget of limit bytes, for which at most wait readers may wait; 0 is
// any number.
func NewQueuedBudget(limit, wait int) *ByteBudget { return &ByteBudget{limit: limit, wait: wait} }

// NewOwnedBudget makes a ByteBudget of limit bytes for one owner, whose account counts all its
// bytes. While the owner may have no more, one message at a time is admitted.
func NewOwnedBudget(limit int, owner Account) *ByteBudget {
	return &ByteBudget{limit: limit, owner: owner}
}

// Add counts bytes that are in memory already; a negative size releases them.
func (r *ByteBudget) Add(size int) {
	if r == nil || size == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(size)
}

// TryAdd counts bytes of something that may last longer than a message, if at least half of the
// room then remains for messages, and reports whether it did. Add releases them.
func (r *ByteBudget) TryAdd(size int) bool {
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

// add counts bytes, and then admits the waiting readers that have room, one after the other.
func (r *ByteBudget) add(size int) {
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

// count counts bytes in the room, and at once for the owner, because the owner is asked whether the
// next ones fit.
func (r *ByteBudget) count(size int) {
	r.used += size
	r.highWater = max(r.highWater, r.used)
	if r.owner != nil && size != 0 {
		r.owner.Count(size)
	}
}

// grows lets a message grow that fits, or that can have the overdraft, and reports whether it did.
func (r *ByteBudget) grows(e *waiter) bool {
	if !r.fits(e.size) {
		if r.over || r.owner != nil && !r.owner.MayExceed(r.used, time.Now()) {
			return false
		}
		r.over, e.over = true, true
	}
	r.count(e.size)
	close(e.in)
	return true
}

// fits reports whether there is room. An empty room takes one message, whatever its size.
func (r *ByteBudget) fits(size int) bool {
	return r.used <= 0 || r.used+size <= r.limit && (r.owner == nil || r.owner.Fits(size))
}

// take waits until there is room, or ctx ends, and counts size. It returns ErrSlowConsumer when too
// many readers wait already.
func (r *ByteBudget) take(ctx context.Context, size int) error {
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
	e := &waiter{size: size, in: make(chan struct{})}
	r.queue = append(r.queue, e)
	r.mu.Unlock()
	return r.await(ctx, e)
}

// more waits until a message that has begun has room for size more bytes, and reports whether it
// has the overdraft for them.
func (r *ByteBudget) more(ctx context.Context, size int) (over bool, err error) {
	e := &waiter{size: size, in: make(chan struct{})}
	r.mu.Lock()
	r.grow = append(r.grow, e)
	r.add(0)
	r.mu.Unlock()
	err = r.await(ctx, e)
	return e.over && err == nil, err
}

// moreOverdraft is more for the message that has the overdraft. The owner may have lost the
// permission because the message grew for long; then moreOverdraft waits for it again.
func (r *ByteBudget) moreOverdraft(ctx context.Context, size int) (over bool, err error) {
	r.mu.Lock()
	if r.owner == nil || r.owner.MayGrow(time.Now()) {
		r.add(size)
		r.mu.Unlock()
		return true, nil
	}
	r.within(true)
	r.mu.Unlock()
	return r.more(ctx, size)
}

// await waits until e is admitted, or ctx ends. It polls the owner: no event announces that the
// owner may have more because other rooms or owners have released bytes.
func (r *ByteBudget) await(ctx context.Context, e *waiter) error {
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
	case <-e.in: // e was admitted in the meantime
		r.within(e.over)
		r.add(-e.size)
	default:
		same := func(other *waiter) bool { return other == e }
		r.queue, r.grow = slices.DeleteFunc(r.queue, same), slices.DeleteFunc(r.grow, same)
		r.add(0) // the next one may be smaller
	}
	return context.Cause(ctx)
}

// free releases the bytes of a message, and the overdraft if the message has it.
func (r *ByteBudget) free(size int, over bool) {
	if r == nil || size == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.within(over)
	r.add(-size)
}

// within gives back the overdraft of a message that has it.
func (r *ByteBudget) within(over bool) {
	if over {
		if r.over = false; r.owner != nil {
			r.owner.EndExcess()
		}
	}
}

// Used returns how many bytes are counted now, and the most that ever were.
func (r *ByteBudget) Used() (now, most int) {
	if r == nil {
		return 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used, r.highWater
}

// Reservation is the reservation of a reader in a ByteBudget, for the message that it reads: from
// when the message proves to be large until it is handed on. The zero Reservation belongs to a
// ByteBudget without bound. A Reservation is for one goroutine.
type Reservation struct {
	budget *ByteBudget
	size   int
	over   bool // it has the overdraft of the room
}

// NewReservation makes the Reservation of a reader.
func NewReservation(r *ByteBudget) Reservation { return Reservation{budget: r} }

// Take waits until the message has room for size bytes in all, unless it has that already. If ctx
// ends before, the Reservation keeps the room that it had.
func (h *Reservation) Take(ctx context.Context, size int) (err error) {
	switch more := size - h.size; {
	case h.budget == nil || more <= 0:
		return nil
	case h.size == 0:
		err = h.budget.take(ctx, size)
	case h.over:
		h.over, err = h.budget.moreOverdraft(ctx, more)
	default:
		h.over, err = h.budget.more(ctx, more)
	}
	if err == nil {
		h.size = size
	}
	return err
}

// Free releases the room. It is idempotent.
func (h *Reservation) Free() {
	h.budget.free(h.size, h.over)
	h.size, h.over = 0, false
}
