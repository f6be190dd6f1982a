package clock

import "time"

// epoch is a moment of this process. Times that differ by a step of the machine's clock only are equally far from it.
var epoch = time.Now()

// Steady is a time in nanoseconds, for what keeps many of them or keeps one in an atomic. Near to Unix nanoseconds, it goes on evenly where those
// follow the machine's clock: what was idle for a minute before that is set by an hour was idle for a minute after. It means nothing to
// another process.
func Steady(t time.Time) int64 { return epoch.UnixNano() + int64(t.Sub(epoch)) }

// Hour is what the machine's clock, as it goes now, says of a moment in nanoseconds of Steady.
func Hour(now time.Time, at int64) time.Time { return now.Add(time.Duration(at - Steady(now))) }

// Past is a time that was written down as now's clock counts it from here on, whatever is made of the machine's: as long ago as it says, and not
// later than now.
func Past(now, at time.Time) time.Time { return now.Add(-max(now.Sub(at), 0)) }
