package otp

import "sync/atomic"

// A hand is what the goroutine of a mailbox has in hand, in one word, so that it goes from one letter to the next without the mailbox's lock and
// everybody else knows which one it is at.
//
//	bit  0       the bell: somebody has put something under the lock, to be looked at before the next letter
//	bits 1 - 24  how many letters it has taken from the user queue, modulo 2^24
//	bits 25 - 63 the tick of the watch at which it began with what it has in hand; 0: it has nothing
//
// Only the goroutine changes the word but for the bell, which is rung under the lock. It goes on by compare-and-swap, so that after the bell it
// takes no letter until it has been under the lock itself: whoever has the lock and has rung knows that the word stands still.
type hand struct{ word atomic.Uint64 }

const (
	bell     = 1
	oneTaken = 1 << 1
	tickAt   = 25
	maxTaken = 1<<(tickAt-1) - 1
)

// stamp is a word without the bell: it tells one thing that a process is at from the next, and since when it is at it.
type stamp uint64

// tick is that of the begin, 0 when there is nothing in hand.
func (s stamp) tick() uint64 { return uint64(s) >> tickAt }

// at is what is in hand, 0 for nothing.
func (h *hand) at() stamp {
	if w := h.word.Load(); w>>tickAt != 0 {
		return stamp(w &^ bell)
	}
	return 0
}

// ring stops the goroutine at the letter that it is at. The caller has the lock.
func (h *hand) ring() { h.word.Or(bell) }

// taken is how many letters have been taken since there were so many.
func (h *hand) taken(since uint32) int { return int((h.count() - since) & maxTaken) }

func (h *hand) count() uint32 { return uint32(h.word.Load()>>1) & maxTaken }

// next takes one more letter, unless the bell has been rung. It is the only thing here for which the goroutine does not have the lock.
func (h *hand) next(tick uint64) bool {
	w := h.word.Load()
	return w&bell == 0 && h.word.CompareAndSwap(w, after(w)|tick<<tickAt)
}

// again stamps what is in hand anew, unless the bell has been rung: then stamp does, under the lock.
func (h *hand) again(tick uint64) bool {
	w := h.word.Load()
	return w&bell == 0 && h.word.CompareAndSwap(w, stamped(w, tick))
}

func (h *hand) stamp(tick uint64) { h.word.Store(stamped(h.word.Load(), tick)) }

// stamped is a word with another tick; who has nothing in hand has no tick.
func stamped(w, tick uint64) uint64 {
	if w>>tickAt == 0 {
		return w
	}
	return w&(1<<tickAt-1) | tick<<tickAt
}

// first takes a letter, signal something else, and rest nothing. All three are the answer to the bell, under the lock.
func (h *hand) first(tick uint64)  { h.word.Store(after(h.word.Load()) | tick<<tickAt) }
func (h *hand) signal(tick uint64) { h.word.Store(uint64(h.count())<<1 | tick<<tickAt) }
func (h *hand) rest()              { h.word.Store(uint64(h.count()) << 1) }

// after is a word's count with one more taken.
func after(w uint64) uint64 { return (w + oneTaken) & (maxTaken << 1) }
