package clock

import (
	"time"
	"unsafe"
)

// Step is t as a clock shows it that was set ahead by so much, or behind: the hour is another, and what has elapsed since any other time is the
// same. Package time has no way to say so, since its arithmetic moves both. A time without the reading of a monotonic clock has nothing to keep,
// and is moved, as is one that would be before 1885 or after 2157: with such a reading there are no others.
func Step(t time.Time, by time.Duration) time.Time {
	const (
		monotonic = 1 << 63 // of the first word: there is such a reading; the seconds since 1885 are below that, and above 30 bits of nanoseconds
		seconds   = 30
	)
	hour := t.Round(0).Add(by)
	stepped := t
	word := (*uint64)(unsafe.Pointer(&stepped)) // see type time.Time
	if *word&monotonic != 0 {
		*word = monotonic | uint64(hour.Unix()-first)<<seconds | uint64(hour.Nanosecond())
	}
	if stepped.Sub(t) != 0 || !stepped.Round(0).Equal(hour) { // there is none, or package time has changed
		return t.Add(by)
	}
	return stepped
}

// first is the first second of which a time with such a reading can be.
var first = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
