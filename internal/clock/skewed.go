package clock

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Skewed is a clock that is wrong by an offset which can be changed while it is in use, for tests: the hour jumps, and neither what has passed
// between two of its readings nor a timer does, as when an operator or NTP steps a machine's clock.
type Skewed struct {
	base   Clock
	began  time.Time
	offset atomic.Int64
}

// NewSkewed returns a clock that agrees with base until Set is called. A nil base is System.
func NewSkewed(base Clock) *Skewed {
	if base == nil {
		base = System
	}
	return &Skewed{base: base, began: base.Now()}
}

// Set makes the clock ahead of its base by offset, in whole seconds, or behind when offset is negative. Zero heals it.
func (s *Skewed) Set(offset time.Duration) { s.offset.Store(int64(offset / time.Second)) }

// Offset is what Set has set.
func (s *Skewed) Offset() time.Duration { return time.Duration(s.offset.Load()) * time.Second }

// Now is a time whose hour is the base's with the offset, and whose monotonic reading is how long the clock has been there. Package time makes
// none that is wrong in one of the two, and times in a testing/synctest bubble have no second, so this is made of its bits.
func (s *Skewed) Now() time.Time {
	const monotonic, seconds = 1 << 63, 30 // there is a reading; the hour in seconds since 1885 is above the nanoseconds
	t := s.base.Now()
	hour := t.Round(0).Add(s.Offset())
	moved := t
	bits := (*[2]uint64)(unsafe.Pointer(&moved))
	bits[0] = monotonic | uint64(hour.Unix()-time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix())<<seconds | uint64(hour.Nanosecond())
	bits[1] = uint64(t.Sub(s.began)) + 1
	if !moved.Round(0).Equal(hour) {
		panic("package time keeps its times otherwise")
	}
	return moved
}

// AfterFunc is the base's: an offset moves the hour, not the length of a second.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer { return s.base.AfterFunc(d, f) }
