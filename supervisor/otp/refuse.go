package otp

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// ErrOriginRefused is the error of a message that is refused because its origin has just crashed
// the receiver more than once, or made it hang. The error that a sender gets also wraps the last of
// these crashes.
var ErrOriginRefused = errors.New("refused: messages of this origin crash the receiver")

// refusedError is ErrOriginRefused with the crash.
type refusedError struct{ crash error }

func (e *refusedError) Error() string   { return ErrOriginRefused.Error() }
func (e *refusedError) Unwrap() []error { return []error{ErrOriginRefused, e.crash} }

const (
	// OriginRefuseTime is how long a child refuses calls of an origin that has crashed it more than
	// once, or made it hang. The time is for the code that listens for CrashCharged to stop the
	// origin.
	OriginRefuseTime = time.Second
	// FirstOriginPause (10 s) is how long a child takes no message of an origin at all, after
	// MaxChargedCrashes crashes or one hang. Messages that cannot be refused wait and are handled
	// afterwards. The time doubles as long as the origin continues to crash the child.
	FirstOriginPause = CrashRepeatTime
	// MaxOriginPause is the longest such time.
	MaxOriginPause = 5 * time.Minute
	// MaxHeldMessages is how many messages of other processes may wait then, in one child. Further
	// ones are dropped and reported with an Overloaded event. Messages that the child has asked for
	// itself, such as a Down, are not counted: there is at most one for each request.
	MaxHeldMessages = 1024
)

// refusals holds the origins whose messages a row refuses. A value never changes.
type refusals map[string]refusal

// refusal says until when messages of an origin are refused.
type refusal struct {
	told time.Time // messages whose sender can be told
	all  time.Time // all messages
	err  error     // the error for senders
}

// refuse makes the row refuse messages of an origin for OriginRefuseTime, and take none at all for
// hold. Only the row's supervisor calls it.
func (r *row) refuse(origin string, now time.Time, hold time.Duration, crash error) {
	next := refusals{origin: {now.Add(OriginRefuseTime), now.Add(hold), &refusedError{crash}}}
	if old := r.refusals.Load(); old != nil {
		for o, s := range *old {
			if o != origin && (s.told.After(now) || s.all.After(now)) {
				next[o] = s
			}
		}
	}
	r.refusals.Store(&next)
}

// refusalOf returns how the row refuses messages of an origin.
func (r *row) refusalOf(origin string) (s refusal, now time.Time) {
	if all := r.refusals.Load(); all != nil && origin != "" {
		return (*all)[origin], r.sys.clock.Now()
	}
	return refusal{}, time.Time{}
}

// held reports whether the row takes no message of an origin, and until when.
func (r *row) held(origin string) (until time.Time, held bool) {
	s, now := r.refusalOf(origin)
	return s.all, now.Before(s.all)
}

// turnedAway reports whether a message is not handled now because of its origin. If its sender can
// be told (Failer), the message fails. Other messages wait, except BestEffort ones, which are
// dropped. p is the process if it sent the message itself, otherwise nil; its own messages always
// wait.
func (g *guard) turnedAway(msg any, p *Process) bool {
	r := g.row
	if r.refusals.Load() == nil {
		return false
	}
	origin := g.sys.originOf(msg)
	s, now := r.refusalOf(origin)
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
	case classOf(msg) == BestEffort: // its loss is acceptable
	default:
		if !r.holding.keep(r.sys.clock, origin, s.all.Sub(now), 1, func() { _ = Ref{r}.Send(msg) }) {
			g.sys.emit(Overloaded{r.about(g.inc(), now), MaxHeldMessages})
		}
	}
	return true
}

// heldMessages keeps messages that wait until their origin is accepted again.
type heldMessages struct {
	mu      sync.Mutex // guards the fields below
	foreign int        // number of messages from other processes
	of      map[string]*heldBack
}

// heldBack holds the messages of one origin.
type heldBack struct {
	strange int
	send    []func()
	timer   ClockTimer
}

// keep holds a message back for the time wait and then sends it, if there is room. strange is 1 for
// a message from another process, otherwise 0.
func (h *heldMessages) keep(c Clock, origin string, wait time.Duration, strange int,
	send func()) (kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strange > 0 && h.foreign >= MaxHeldMessages {
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
	b.send, b.strange, h.foreign = append(b.send, send), b.strange+strange, h.foreign+strange
	return true
}

// let sends the messages of an origin: those of b, or all that there are if b is nil.
func (h *heldMessages) let(origin string, b *heldBack) {
	h.mu.Lock()
	is := h.of[origin]
	if is == nil || b != nil && is != b {
		h.mu.Unlock()
		return
	}
	delete(h.of, origin)
	h.foreign -= is.strange
	h.mu.Unlock()
	is.timer.Stop()
	for _, send := range is.send {
		send()
	}
}

// AcceptOrigin makes every row accept messages of an origin again, and handle those that wait.
func (s *System) AcceptOrigin(origin string) {
	s.mu.Lock()
	roots := append([]*row(nil), s.roots...)
	s.mu.Unlock()
	for _, r := range roots {
		r.forgive(origin)
	}
}

// forgive is AcceptOrigin for a row and the rows below it.
func (r *row) forgive(origin string) {
	if all := r.refusals.Load(); all != nil {
		next := maps.Clone(*all)
		delete(next, origin)
		r.refusals.CompareAndSwap(all, &next) // unless the supervisor has just shunned it again
		r.holding.let(origin, nil)
	}
	for _, c := range r.rows() {
		c.forgive(origin)
	}
}
