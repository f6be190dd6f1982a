package otp

import "time"

// Crashes that are charged to origins. The bounds hold for each child of a supervisor with a Backoff.
const (
	// RepeatTime is how soon after a crash another one of the same origin follows it.
	RepeatTime = 10 * time.Second
	// MaxCharged is how many crashes of one origin may follow one another before the child gets no
	// message of it any more, not even those that nobody can be told about: see FirstHold. A hang is
	// enough. A child that crashes for the origin even so is at fault itself.
	MaxCharged = 100
	// OwnTime is the time within which crashes of OwnOrigins different origins show that the child
	// itself is at fault. From then on its crashes are charged to it.
	OwnTime    = time.Minute
	OwnOrigins = 3
)

// charge is the last crash on messages of an origin, and how many have followed one another.
type charge struct {
	origin string
	at     time.Time
	times  int
	hold   time.Duration // for which the child took no message of it the last time
}

// charges are the last crashes of a child on messages of different origins, at most OwnOrigins.
type charges []charge

// add notes a crash, or a hang. It reports how many of the origin have followed one another, this one
// included, and for how long the child is to take no message of it.
func (c *charges) add(now time.Time, origin string, hang bool) (times int, hold time.Duration) {
	next := charge{origin: origin, at: now, times: 1}
	kept := (*c)[:0]
	for _, x := range *c {
		age := now.Sub(x.at)
		switch {
		case x.origin == origin:
			if age <= x.hold+RepeatTime {
				next.times, next.hold = 1+x.times, x.hold
			}
		case age <= OwnTime:
			kept = append(kept, x)
		}
	}
	if len(kept) == OwnOrigins {
		kept = append(kept[:0], kept[1:]...) // the oldest of those that are others
	}
	if hang || next.times >= MaxCharged {
		next.hold = min(max(2*next.hold, FirstHold), LastHold)
		hold = next.hold
	}
	*c = append(kept, next)
	return next.times, hold
}

// own reports whether the child itself is at fault.
func (c charges) own() bool { return len(c) >= OwnOrigins }
