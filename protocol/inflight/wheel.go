package inflight

import (
	"iter"
	"slices"
	"time"
)

// The slots of a wheel, and how long each lasts. A deadline beyond one turn stays in its slot for
// the turns that it has left.
const (
	wheelSlots = 64
	wheelTick  = time.Second
)

// Wheel is a timing wheel: deadlines that are set, moved and removed in constant time, whatever
// their number. The zero Wheel is empty and ready. It is for one goroutine at a time.
type Wheel[T any] struct {
	slots []*Deadline[T] // nil before the first deadline: most tenants are idle
	base  time.Time      // the begin of tick 0
	swept int64          // nothing is due before this tick
	n     int
}

// Deadline is a place in a wheel. It is a part of what it is about, so that setting it takes no
// memory. The zero Deadline is in no wheel, and none is set at the zero time.
type Deadline[T any] struct {
	of         T
	at         time.Time // zero while it is in no wheel
	prev, next *Deadline[T]
}

// IsSet reports whether the deadline is in a wheel.
func (d *Deadline[T]) IsSet() bool { return !d.at.IsZero() }

// At is the deadline itself. It means something only while the deadline is set.
func (d *Deadline[T]) At() time.Time { return d.at }

// Len is how many deadlines are set.
func (w *Wheel[T]) Len() int { return w.n }

// Set sets a deadline of something, or moves it.
func (w *Wheel[T]) Set(d *Deadline[T], of T, at time.Time) {
	w.Remove(d)
	if w.slots == nil {
		w.slots = make([]*Deadline[T], wheelSlots)
	}
	if w.n == 0 {
		w.base, w.swept = at, 0
	}
	d.of, d.at = of, at
	tick := w.tickOf(at)
	w.swept = min(w.swept, tick)
	slot := &w.slots[slotOf(tick)]
	if d.next = *slot; d.next != nil {
		d.next.prev = d
	}
	*slot = d
	w.n++
}

// Remove takes a deadline out of the wheel. One that is in none stays as it is.
func (w *Wheel[T]) Remove(d *Deadline[T]) {
	if !d.IsSet() {
		return
	}
	if d.prev != nil {
		d.prev.next = d.next
	} else {
		w.slots[slotOf(w.tickOf(d.at))] = d.next
	}
	if d.next != nil {
		d.next.prev = d.prev
	}
	*d = Deadline[T]{}
	w.n--
}

// Due is what has reached its deadline, the earliest first. It stays in the wheel until it is
// removed.
func (w *Wheel[T]) Due(now time.Time) (due []T) {
	if w.n == 0 {
		return nil
	}
	last := w.tickOf(now)
	w.sweep(last)
	var found []*Deadline[T]
	for tick := w.swept; tick <= last && tick < w.swept+wheelSlots; tick++ {
		for d := w.slots[slotOf(tick)]; d != nil; d = d.next {
			if !d.at.After(now) {
				found = append(found, d)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *Deadline[T]) int { return a.at.Compare(b.at) })
	for _, d := range found {
		due = append(due, d.of)
	}
	return due
}

// Next is when to call Due next; false when no deadline is set. Where the earliest is more than a
// turn away, it is the end of the turn.
func (w *Wheel[T]) Next(now time.Time) (at time.Time, ok bool) {
	if w.n == 0 {
		return time.Time{}, false
	}
	w.sweep(w.tickOf(now))
	for tick := w.swept; tick < w.swept+wheelSlots; tick++ {
		for d := w.slots[slotOf(tick)]; d != nil; d = d.next {
			if w.tickOf(d.at) == tick && (!ok || d.at.Before(at)) {
				at, ok = d.at, true
			}
		}
		if ok {
			return at, true
		}
	}
	return w.base.Add(time.Duration(w.swept+wheelSlots) * wheelTick), true
}

// All goes through what is in the wheel, in no order. The wheel must not be changed meanwhile.
func (w *Wheel[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, d := range w.slots {
			for ; d != nil; d = d.next {
				if !yield(d.of) {
					return
				}
			}
		}
	}
}

// sweep goes on to the first tick, up to last, in which something may be due.
func (w *Wheel[T]) sweep(last int64) {
	if last-w.swept >= wheelSlots { // nobody has looked for more than a turn
		first := last
		for _, d := range w.slots {
			for ; d != nil; d = d.next {
				first = min(first, w.tickOf(d.at))
			}
		}
		w.swept = first
	}
	for w.swept < last && !w.holds(w.swept) {
		w.swept++
	}
}

func (w *Wheel[T]) holds(tick int64) bool {
	for d := w.slots[slotOf(tick)]; d != nil; d = d.next {
		if w.tickOf(d.at) <= tick {
			return true
		}
	}
	return false
}

func (w *Wheel[T]) tickOf(at time.Time) int64 {
	d := at.Sub(w.base)
	tick := int64(d / wheelTick)
	if d < 0 && d%wheelTick != 0 {
		tick--
	}
	return tick
}

func slotOf(tick int64) int64 { return (tick%wheelSlots + wheelSlots) % wheelSlots }
