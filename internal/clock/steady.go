package clock

import "time"

// epoch is a moment of this process. Times that differ only by a step of the machine's clock have
// the same distance from it.
var epoch = time.Now()

// SteadyNanos converts a time to nanoseconds, for compact or atomic storage. The values are near to
// Unix nanoseconds, but advance evenly when the machine's clock is set: something that was idle for
// a minute before a step of an hour was idle for a minute after it. They mean nothing to another
// process.
func SteadyNanos(t time.Time) int64 { return epoch.UnixNano() + int64(t.Sub(epoch)) }

// WallTime returns the wall-clock time, by the machine's current clock, of a moment in nanoseconds
// of Steady.
func WallTime(now time.Time, at int64) time.Time {
	return now.Add(time.Duration(at - SteadyNanos(now)))
}

// FromStored converts a stored time to the clock of now, so that later steps of the machine's clock
// do not affect it. The result is as long ago as at is before now, and never later than now.
func FromStored(now, at time.Time) time.Time { return now.Add(-max(now.Sub(at), 0)) }
