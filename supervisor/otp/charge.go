package otp

import "time"

// Bounds for crashes that are charged to origins. They apply to each child of a supervisor with a
// Backoff.
const (
	// CrashRepeatTime is how soon a crash must follow another one of the same origin, or the end of
	// its hold (see FirstOriginPause), to count as a repetition.
	CrashRepeatTime = 10 * time.Second
	// MaxChargedCrashes is how many crashes in a row one origin may cause. Then the child gets no
	// message of that origin for a time, not even messages that cannot be refused: see
	// FirstOriginPause. One hang has the same effect. If the child crashes for that origin even so,
	// the child itself is at fault.
	MaxChargedCrashes = 100
	// OwnFaultTime is the time within which crashes of OwnFaultOrigins different origins show that the
	// child itself is at fault. From then on its crashes are charged to the child.
	OwnFaultTime = time.Minute
	// OwnFaultOrigins is how many different origins must crash a child within OwnFaultTime to show
	// that the child itself is at fault.
	OwnFaultOrigins = 3
)

// charge is the last crash on a message of an origin, and how many crashes of this origin were in a
// row.
type charge struct {
	origin string
	at     time.Time
	times  int
	hold   time.Duration // how long the child took no message of the origin last time
}

// charges are the last crashes of a child on messages of different origins, at most
// OwnFaultOrigins.
type charges []charge

// add records a crash or a hang. It returns how many of the origin's were in a row, including this
// one, and for how long the child is to take no message of the origin (0: no hold).
func (c *charges) add(now time.Time, origin string, hang bool) (times int, hold time.Duration) {
	next := charge{origin: origin, at: now, times: 1}
	kept := (*c)[:0]
	for _, x := range *c {
		age := now.Sub(x.at)
		switch {
		case x.origin == origin:
			if age <= x.hold+CrashRepeatTime {
				next.times, next.hold = 1+x.times, x.hold
			}
		case age <= OwnFaultTime:
			kept = append(kept, x)
		}
	}
	if len(kept) == OwnFaultOrigins {
		kept = append(kept[:0], kept[1:]...) // drop the oldest of the other origins
	}
	if hang || next.times >= MaxChargedCrashes {
		next.hold = min(max(2*next.hold, FirstOriginPause), MaxOriginPause)
		hold = next.hold
	}
	*c = append(kept, next)
	return next.times, hold
}

// own reports whether the child itself is at fault.
func (c charges) own() bool { return len(c) >= OwnFaultOrigins }
