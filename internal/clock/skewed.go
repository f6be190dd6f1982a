package clock

import (
	"sync/atomic"
	"time"
)

// Skewed is a clock that is wrong by an offset which can be changed while it is in use, for fault runs: the hour
// jumps, durations of timers do not, as when an operator or NTP steps a machine's clock.
type Skewed struct {
	base   Clock
	offset atomic.Int64
}

// NewSkewed returns a clock that agrees with base until Set is called. A nil base is System.
func NewSkewed(base Clock) *Skewed {
	if base == nil {
		base = System
	}
	return &Skewed{base: base}
}

// Set makes the clock ahead of its base by offset, or behind when offset is negative. Zero heals it.
func (s *Skewed) Set(offset time.Duration) { s.offset.Store(int64(offset)) }

// Offset is what Set has set.
func (s *Skewed) Offset() time.Duration { return time.Duration(s.offset.Load()) }

// Now is the base's time plus the offset.
func (s *Skewed) Now() time.Time { return s.base.Now().Add(s.Offset()) }

// AfterFunc is the base's: an offset moves the hour, not the length of a second.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer { return s.base.AfterFunc(d, f) }
