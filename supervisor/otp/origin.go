package otp

import (
	"errors"
	"maps"
	"time"
)

// Attributed is a message that somebody outside the tree has caused. Origin names who: a crash on
// the message is charged to that origin and not to the worker, where the supervisor has a Backoff.
// An empty origin is nobody in particular.
type Attributed interface{ Origin() string }

// ErrShunned refuses a message whose origin has just crashed its receiver more than once.
var ErrShunned = errors.New("refused: messages of this origin crash the receiver")

// Origins of crashes. They hold for each child of a supervisor with a Backoff.
const (
	// RepeatTime is how soon after a crash another one of the same origin makes the child refuse
	// calls of that origin, and ShunTime for how long it does: until whoever listens for CrashCharged
	// has stopped the origin.
	RepeatTime = 10 * time.Second
	ShunTime   = time.Second
	// MaxCharged is how many crashes of one origin may follow one another within RepeatTime before
	// the child gets no message of it any more, not even those that nobody can be told about. It
	// ends a loop that a child is in when its Init brings about the message it crashes on. A child
	// that crashes for the origin even so is at fault itself.
	MaxCharged = 100
	// OwnTime is the time within which crashes of OwnOrigins different origins show that the child
	// itself is at fault. From then on its crashes are charged to it.
	OwnTime    = time.Minute
	OwnOrigins = 3
)

// originOf is the origin of a message, "" when it has none. A Down comes from whoever the system's
// options say that the row belongs to.
func (s *System) originOf(msg any) string {
	switch m := msg.(type) {
	case Attributed:
		return m.Origin()
	case Down:
		if s.origin != nil {
			return s.origin(m.Ref.Path())
		}
	}
	return ""
}

// Origin is that of the request.
func (c *Call[Req, Resp]) Origin() string {
	if a, ok := any(&c.Req).(Attributed); ok {
		return a.Origin()
	}
	return ""
}

// shunned are the origins whose messages a row refuses. A value is never changed.
type shunned map[string]shun

// shun is until when, and whether that is all messages or only those that can be told.
type shun struct {
	until time.Time
	all   bool
}

// shun makes the row refuse messages of an origin for a while. Only the row's supervisor calls it.
func (r *row) shun(origin string, now time.Time, all bool) {
	next := shunned{origin: shun{now.Add(ShunTime), all}}
	if old := r.shunned.Load(); old != nil {
		for o, s := range *old {
			if o != origin && s.until.After(now) {
				next[o] = s
			}
		}
	}
	r.shunned.Store(&next)
}

// shuns reports whether a message is refused for its origin. Those that nobody can be told about,
// and what the process has sent itself, are refused last: whoever counts on them goes on waiting.
func (r *row) shuns(msg any, own bool) bool {
	all := r.shunned.Load()
	if all == nil {
		return false
	}
	s, ok := (*all)[r.sys.originOf(msg)]
	if !ok || !r.sys.clock.Now().Before(s.until) {
		return false
	}
	_, told := msg.(Failer)
	return told && !own || s.all
}

// Forgive has every row take messages of an origin again.
func (s *System) Forgive(origin string) {
	s.mu.Lock()
	roots := append([]*row(nil), s.roots...)
	s.mu.Unlock()
	for _, r := range roots {
		r.forgive(origin)
	}
}

// forgive is Forgive for a row and those below it.
func (r *row) forgive(origin string) {
	if all := r.shunned.Load(); all != nil {
		next := maps.Clone(*all)
		delete(next, origin)
		r.shunned.CompareAndSwap(all, &next) // the supervisor may just have shunned it again
	}
	for _, c := range r.rows() {
		c.forgive(origin)
	}
}

// charge is the last crash on messages of an origin, and how many have followed one another.
type charge struct {
	origin string
	at     time.Time
	times  int
}

// charges are the last crashes of a child on messages of different origins, at most OwnOrigins.
type charges []charge

// add notes a crash. It reports how many of the origin have followed one another within RepeatTime,
// this one included, and whether the child itself is at fault.
func (c *charges) add(now time.Time, origin string) (times int, own bool) {
	times = 1
	kept := (*c)[:0]
	for _, x := range *c {
		age := now.Sub(x.at)
		switch {
		case x.origin == origin:
			if age <= RepeatTime {
				times += x.times
			}
		case age <= OwnTime:
			kept = append(kept, x)
		}
	}
	if len(kept) == OwnOrigins {
		kept = append(kept[:0], kept[1:]...) // the oldest of those that are others
	}
	*c = append(kept, charge{origin, now, times})
	return times, len(*c) >= OwnOrigins || times > MaxCharged
}
