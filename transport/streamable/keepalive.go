package streamable

import (
	"sync"
	"time"

	"mcpd/internal/clock"
)

// keepAliveTimers holds the keep-alive timers of responses that wait for their first message. A
// timer expires when clients and the proxies in between need a sign of life. All timers have the
// same duration, so they expire in the order in which they started, and one clock timer serves all
// of them. Most calls are answered long before it fires.
type keepAliveTimers struct {
	clock clock.Clock
	most  time.Duration

	mu          sync.Mutex // guards the rest, and every waiting silence
	first, last *keepAliveTimer
	armed       bool // the clock timer will fire, no later than the first silence is due
}

// keepAliveTimer is the keep-alive timer of one waiting response.
type keepAliveTimer struct {
	out           *streamResponse
	due           int64 // of clock.SteadyNanos
	before, after *keepAliveTimer
}

// begin starts the timer w, which calls o.tick when it expires, unless end is called before.
func (s *keepAliveTimers) begin(w *keepAliveTimer, o *streamResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Read under the mutex, so that the last silence in the list is due last.
	now := clock.SteadyNanos(s.clock.Now())
	w.out, w.due, w.before = o, now+int64(s.most), s.last
	if s.last == nil {
		s.first = w
	} else {
		s.last.after = w
	}
	s.last = w
	s.arm(now)
}

// end stops the timer w: it does not tick afterwards. It is idempotent.
func (s *keepAliveTimers) end(w *keepAliveTimer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.out != nil {
		s.remove(w)
	}
}

func (s *keepAliveTimers) remove(w *keepAliveTimer) {
	if w.before == nil {
		s.first = w.after
	} else {
		w.before.after = w.after
	}
	if w.after == nil {
		s.last = w.before
	} else {
		w.after.before = w.before
	}
	*w = keepAliveTimer{}
}

// arm starts the clock timer if a silence waits. The clock timer is not stopped when no silence is
// left, because the next call would have to start it again. The mutex is held.
func (s *keepAliveTimers) arm(now int64) {
	if s.armed || s.first == nil {
		return
	}
	s.armed = true
	s.clock.AfterFunc(time.Duration(s.first.due-now), s.fire)
}

// atOnce is the maximum number of responses that are signalled while the mutex is held. It limits
// how long a response of another tenant waits for the mutex.
const atOnce = 256

func (s *keepAliveTimers) fire() {
	for s.fireDue() {
	}
}

// fireDue signals the silences that are due, at most atOnce of them, and reports whether there may
// be more.
func (s *keepAliveTimers) fireDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.SteadyNanos(s.clock.Now())
	for range atOnce {
		if s.first == nil || s.first.due > now {
			s.armed = false
			s.arm(now)
			return false
		}
		o := s.first.out
		s.remove(s.first)
		o.tick()
	}
	return true
}
