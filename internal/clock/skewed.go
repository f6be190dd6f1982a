package clock

import (
	"sync/atomic"
	"time"
)

// Skewed is a clock for tests whose wall clock is off by an offset that can be changed while it is
// in use. The wall clock jumps; elapsed time and timers are not affected, as when an operator or
// NTP steps a machine's clock.
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

// Set makes the clock ahead of its base by offset, or behind if offset is negative. Zero removes
// the offset.
func (s *Skewed) Set(offset time.Duration) { s.offset.Store(int64(offset)) }

// Offset returns the offset that Set has set.
func (s *Skewed) Offset() time.Duration { return time.Duration(s.offset.Load()) }

// Now returns a time whose wall clock is the base's plus the offset, and whose monotonic reading
// has advanced as much as the base. Times in a testing/synctest bubble have no monotonic reading,
// but epoch has one.
func (s *Skewed) Now() time.Time {
	now := s.base.Now()
	t := epoch.Add(now.Sub(s.began))
	return Step(t, now.Round(0).Add(s.Offset()).Sub(t.Round(0)))
}

// AfterFunc is the base's: an offset moves the wall clock, but not the length of a second.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer { return s.base.AfterFunc(d, f) }
