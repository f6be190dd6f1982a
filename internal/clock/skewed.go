package clock

import (
	"sync/atomic"
	"time"
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

// Set makes the clock ahead of its base by offset, or behind when offset is negative. Zero heals it.
func (s *Skewed) Set(offset time.Duration) { s.offset.Store(int64(offset)) }

// Offset is what Set has set.
func (s *Skewed) Offset() time.Duration { return time.Duration(s.offset.Load()) }

// Now is a time whose hour is the base's with the offset, and whose monotonic reading is as far on as the clock has been there. Times in a
// testing/synctest bubble have no such reading, and epoch has one.
func (s *Skewed) Now() time.Time {
	now := s.base.Now()
	t := epoch.Add(now.Sub(s.began))
	return Step(t, now.Round(0).Add(s.Offset()).Sub(t.Round(0)))
}

// AfterFunc is the base's: an offset moves the hour, not the length of a second.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer { return s.base.AfterFunc(d, f) }
