package clock

import (
	"time"
	"unsafe"
)

// Step returns t as shown by a clock that was set ahead or behind by that much. The wall clock
// differs, but the elapsed time to any other time is the same. Package time cannot express that,
// since its arithmetic moves both. A time without a monotonic reading is simply moved. So is a time
// whose result would be before 1885 or after 2157, because no time with a monotonic reading can be
// outside that range.
func Step(t time.Time, by time.Duration) time.Time {
	const (
		// monotonic is a bit of the first word of a time.Time: it has a monotonic reading. Below that bit
		// are the seconds since 1885, and below those 30 bits of nanoseconds.
		monotonic = 1 << 63
		seconds   = 30
	)
	hour := t.Round(0).Add(by)
	stepped := t
	word := (*uint64)(unsafe.Pointer(&stepped)) // see type time.Time
	if *word&monotonic != 0 {
		*word = monotonic | uint64(hour.Unix()-first)<<seconds | uint64(hour.Nanosecond())
	}
	// there is no monotonic reading, or package time has changed
	if stepped.Sub(t) != 0 || !stepped.Round(0).Equal(hour) {
		return t.Add(by)
	}
	return stepped
}

// first is the earliest second of a time with a monotonic reading.
var first = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
