package inflight

import (
	"iter"
	"slices"
	"time"
)

// The number of slots of a wheel, and the time that each covers. A deadline beyond one turn of the
// wheel stays in its slot for the remaining turns.
const (
	wheelSlots = 64
	wheelTick  = time.Second
)

// Wheel is a timing wheel. Setting, moving and removing a deadline takes constant time, whatever
// the number of deadlines. The zero Wheel is empty and ready to use. It is not safe for concurrent
// use.
type Wheel[T any] struct {
	slots []*Deadline[T] // nil before the first deadline, because most tenants are idle
	base  time.Time      // begin of tick 0
	swept int64          // no deadline is due before this tick
	n     int
}

// Deadline is an entry of a wheel. Embed it in the value that has the deadline, so that setting it
// needs no allocation. The zero Deadline is in no wheel. A deadline cannot be set to the zero time.
type Deadline[T any] struct {
	value      T
	at         time.Time // zero while the deadline is in no wheel
	prev, next *Deadline[T]
}

// IsSet reports whether the deadline is in a wheel.
func (d *Deadline[T]) IsSet() bool { return !d.at.IsZero() }

// At is the time of the deadline. It is meaningful only while the deadline is set.
func (d *Deadline[T]) At() time.Time { return d.at }

// Len is the number of deadlines that are set.
func (w *Wheel[T]) Len() int { return w.n }

// Set sets or moves the deadline d of the value of.
func (w *Wheel[T]) Set(d *Deadline[T], of T, at time.Time) {
	w.Remove(d)
	if w.slots == nil {
		w.slots = make([]*Deadline[T], wheelSlots)
	}
	if w.n == 0 {
		w.base, w.swept = at, 0
	}
	d.value, d.at = of, at
	tick := w.tickOf(at)
	w.swept = min(w.swept, tick)
	slot := &w.slots[slotOf(tick)]
	if d.next = *slot; d.next != nil {
		d.next.prev = d
	}
	*slot = d
	w.n++
}

// Remove takes a deadline out of the wheel. It does nothing if the deadline is not set.
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

// Due returns the values whose deadline has passed, the earliest first. They stay in the wheel
// until they are removed.
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
		due = append(due, d.value)
	}
	return due
}

// Next returns the time of the next call of Due, and false if no deadline is set. The time is the
// end of the turn if the earliest deadline is more than a turn away.
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

// All iterates over the values in the wheel, in no order. The wheel must not change during the
// iteration.
func (w *Wheel[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, d := range w.slots {
			for ; d != nil; d = d.next {
				if !yield(d.value) {
					return
				}
			}
		}
	}
}

// sweep advances to the first tick, at most last, in which a deadline may be due.
func (w *Wheel[T]) sweep(last int64) {
	// Due and Next were not called for more than a turn.
	if last-w.swept >= wheelSlots {
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
