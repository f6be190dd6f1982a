package otp

import "sync/atomic"

// cursor is the cursor of a mailbox's goroutine: one atomic word that says what the goroutine
// handles. With it the goroutine goes from one message to the next without the mailbox's lock, and
// others can see where it is.
//
//	bit  0       the wake-up flag: under the lock, somebody has changed something that the goroutine
//	             must look at before the next message
//	bits 1 - 24  how many messages it has taken from the user queue, modulo 2^24
//	bits 25 - 63 the tick of the watch at which it began with what it handles; 0: it handles nothing
//
// Only the goroutine changes the word, except for the wake-up flag, which others set under the
// lock. The goroutine advances by compare-and-swap. So after the flag is set it takes no message
// before it has held the lock itself: code that holds the lock and has set the flag knows that the
// word does not change.
type cursor struct{ word atomic.Uint64 }

const (
	wakeFlag = 1
	oneTaken = 1 << 1
	tickAt   = 25
	maxTaken = 1<<(tickAt-1) - 1
)

// stamp is a word without the wake-up flag. It identifies one thing that a process handles, and
// says since when.
type stamp uint64

// tick returns the tick of the begin, 0 when nothing is being handled.
func (s stamp) tick() uint64 { return uint64(s) >> tickAt }

// at returns what is being handled, 0 for nothing.
func (h *cursor) at() stamp {
	if w := h.word.Load(); w>>tickAt != 0 {
		return stamp(w &^ wakeFlag)
	}
	return 0
}

// interrupt stops the goroutine after the message that it handles. The caller holds the lock.
func (h *cursor) interrupt() { h.word.Or(wakeFlag) }

// taken returns how many messages have been taken since count had the value since.
func (h *cursor) taken(since uint32) int { return int((h.count() - since) & maxTaken) }

func (h *cursor) count() uint32 { return uint32(h.word.Load()>>1) & maxTaken }

// next advances to the next message, unless the wake-up flag is set. It and again are the only
// changes that the goroutine makes without the lock.
func (h *cursor) next(tick uint64) bool {
	w := h.word.Load()
	return w&wakeFlag == 0 && h.word.CompareAndSwap(w, after(w)|tick<<tickAt)
}

// again sets a new tick for the message being handled, unless the wake-up flag is set. Then stamp
// must be called, under the lock.
func (h *cursor) again(tick uint64) bool {
	w := h.word.Load()
	return w&wakeFlag == 0 && h.word.CompareAndSwap(w, stamped(w, tick))
}

func (h *cursor) stamp(tick uint64) { h.word.Store(stamped(h.word.Load(), tick)) }

// stamped returns a word with another tick. A word without a message keeps tick 0.
func stamped(w, tick uint64) uint64 {
	if w>>tickAt == 0 {
		return w
	}
	return w&(1<<tickAt-1) | tick<<tickAt
}

// first takes a message from the user queue, signal begins a system message, rest ends the work.
// All three clear the wake-up flag, under the lock.
func (h *cursor) first(tick uint64)  { h.word.Store(after(h.word.Load()) | tick<<tickAt) }
func (h *cursor) signal(tick uint64) { h.word.Store(uint64(h.count())<<1 | tick<<tickAt) }
func (h *cursor) rest()              { h.word.Store(uint64(h.count()) << 1) }

// after returns the word w with one more message counted, and with flag and tick 0.
func after(w uint64) uint64 { return (w + oneTaken) & (maxTaken << 1) }
