package otp

import (
	"errors"
	"maps"
	"sync"
	"time"

	"mcpd/internal/clock"
)

// ErrShunned refuses a message whose origin has just crashed its receiver more than once. What a
// sender gets also wraps the last of those crashes.
var ErrShunned = errors.New("refused: messages of this origin crash the receiver")

// shunnedError is ErrShunned with the crash.
type shunnedError struct{ crash error }

func (e *shunnedError) Error() string   { return ErrShunned.Error() }
func (e *shunnedError) Unwrap() []error { return []error{ErrShunned, e.crash} }

const (
	// ShunTime is for how long a child refuses calls of an origin that has crashed it more than once:
	// until whoever listens for CrashCharged has stopped the origin.
	ShunTime = time.Second
	// FirstHold and LastHold are for how long it takes no message of an origin at all. They wait and
	// are handled afterwards. The time doubles while the origin goes on crashing it.
	FirstHold = RepeatTime
	LastHold  = 5 * time.Minute
	// MaxHeld is how many messages of others wait then. More are dropped, and reported as Overloaded. What the child has asked for
	// itself, such as a Down, is not counted: there is one for each question.
	MaxHeld = 1024
)

// shunned are the origins whose messages a row refuses. A value is never changed.
type shunned map[string]shun

// shun is until when messages of an origin are refused.
type shun struct {
	told time.Time // those whose sender can be told
	all  time.Time // all of them
	err  error     // what senders are told
}

// shun makes the row refuse messages of an origin for a while, and take none at all for hold. Only the
// row's supervisor calls it.
func (r *row) shun(origin string, now time.Time, hold time.Duration, crash error) {
	next := shunned{origin: {now.Add(ShunTime), now.Add(hold), &shunnedError{crash}}}
	if old := r.shunned.Load(); old != nil {
		for o, s := range *old {
			if o != origin && (s.told.After(now) || s.all.After(now)) {
				next[o] = s
			}
		}
	}
	r.shunned.Store(&next)
}

// shuns is how a row refuses messages of an origin.
func (r *row) shuns(origin string) (s shun, now time.Time) {
	if all := r.shunned.Load(); all != nil && origin != "" {
		return (*all)[origin], r.sys.clock.Now()
	}
	return shun{}, time.Time{}
}

// held reports whether the row takes no message of an origin, and until when.
func (r *row) held(origin string) (until time.Time, held bool) {
	s, now := r.shuns(origin)
	return s.all, now.Before(s.all)
}

// turnedAway reports whether a message is not handled now because of its origin. Its sender is told, if
// that can be; what nobody can be told about, and what the process p has sent itself (p is nil of any
// other), waits, but for what is Sheddable.
func (g *guard) turnedAway(msg any, p *Process) bool {
	r := g.row
	if r.shunned.Load() == nil {
		return false
	}
	origin := g.sys.originOf(msg)
	s, now := r.shuns(origin)
	_, told := msg.(Failer)
	switch {
	case told && p == nil && now.Before(s.told):
		g.refuse(msg, s.err)
	case !now.Before(s.all):
		return false
	case p != nil:
		r.holding.keep(r.sys.clock, origin, s.all.Sub(now), 0, func() { p.deliver(msg) })
	case told:
		g.refuse(msg, s.err)
	case classOf(msg) == Sheddable: // nobody misses it
	default:
		if !r.holding.keep(r.sys.clock, origin, s.all.Sub(now), 1, func() { _ = Ref{r}.Send(msg) }) {
			g.sys.emit(Overloaded{r.about(g.inc(), now), MaxHeld})
		}
	}
	return true
}

// holding are messages that wait until their origins are let in again.
type holding struct {
	mu      sync.Mutex // guards what follows
	strange int        // that others have sent
	of      map[string]*heldBack
}

// heldBack are those of one origin.
type heldBack struct {
	strange int
	send    []func()
	timer   clock.Timer
}

// keep keeps a message for as long as that, if there is room. Strange is 1 for one that somebody else
// has sent.
func (h *holding) keep(c clock.Clock, origin string, wait time.Duration, strange int, send func()) (kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strange > 0 && h.strange >= MaxHeld {
		return false
	}
	b := h.of[origin]
	if b == nil {
		b = &heldBack{}
		b.timer = c.AfterFunc(wait, func() { h.let(origin, b) })
		if h.of == nil {
			h.of = map[string]*heldBack{}
		}
		h.of[origin] = b
	}
	b.send, b.strange, h.strange = append(b.send, send), b.strange+strange, h.strange+strange
	return true
}

// let sends what is kept of an origin: b, or whatever there is (nil).
func (h *holding) let(origin string, b *heldBack) {
	h.mu.Lock()
	is := h.of[origin]
	if is == nil || b != nil && is != b {
		h.mu.Unlock()
		return
	}
	delete(h.of, origin)
	h.strange -= is.strange
	h.mu.Unlock()
	is.timer.Stop()
	for _, send := range is.send {
		send()
	}
}

// Forgive has every row take messages of an origin again, and handle those that wait.
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
		r.holding.let(origin, nil)
	}
	for _, c := range r.rows() {
		c.forgive(origin)
	}
}
