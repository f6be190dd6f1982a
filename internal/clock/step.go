package clock

import (
	"time"
	"unsafe"
)

// Step is t as a clock shows it that was set ahead by so many whole seconds, or behind: the hour is another, and what has elapsed since any other
// time is the same. Package time has no way to say so, since its arithmetic moves both. A time without the reading of a monotonic clock has nothing
// to keep, and is moved.
func Step(t time.Time, by time.Duration) time.Time {
	by = by.Truncate(time.Second)
	const (
		monotonic = 1 << 63 // of the first word: it has such a reading, and the seconds since 1885 below that, and 30 bits of nanoseconds
		unit      = 1 << 30
	)
	stepped := t
	word := (*uint64)(unsafe.Pointer(&stepped)) // see type time.Time
	if *word&monotonic != 0 {
		*word += uint64(by/time.Second) * unit //nolint:gosec // a step behind wraps around
	}
	if stepped.Sub(t) != 0 || stepped.Round(0).Sub(t.Round(0)) != by { // it has none, or package time has changed
		return t.Add(by)
	}
	return stepped
}
