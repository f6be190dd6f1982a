package streamable

import (
	"sync"
	"time"

	"mcpd/internal/clock"
)

// silences tells responses that they have waited for as long as their clients, and the proxies
// before them, go without a sign of life. All may wait equally long, so they are due in the order in
// which they came, and one timer serves all of them: most calls are answered long before it fires.
type silences struct {
	clock clock.Clock
	most  time.Duration

	mu          sync.Mutex // guards the rest, and every silence that is waiting
	first, last *silence
	armed       bool // the timer will fire, and not after the first of them is due
}

// silence is one response that waits.
type silence struct {
	out           *outlet
	due           int64 // of clock.Steady
	before, after *silence
}

// begin has o.tick called when it is time, unless end is called before.
func (s *silences) begin(w *silence, o *outlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.Steady(s.clock.Now()) // under the mutex, so that the last is due last
	w.out, w.due, w.before = o, now+int64(s.most), s.last
	if s.last == nil {
		s.first = w
	} else {
		s.last.after = w
	}
	s.last = w
	s.arm(now)
}

// end ends the wait: there is no tick after it. It is idempotent.
func (s *silences) end(w *silence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.out != nil {
		s.remove(w)
	}
}

func (s *silences) remove(w *silence) {
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
	*w = silence{}
}

// arm starts the timer where there is something to wait for. One that fires for nobody, because the
// wait is over, is not stopped: it would have to be started anew for the next call. The mutex is
// held.
func (s *silences) arm(now int64) {
	if s.armed || s.first == nil {
		return
	}
	s.armed = true
	s.clock.AfterFunc(time.Duration(s.first.due-now), s.fire)
}

// atOnce is how many responses are told in one go: whoever begins to wait meanwhile, and may be
// another tenant's, waits for no more of them.
const atOnce = 256

func (s *silences) fire() {
	for s.some() {
	}
}

// some tells those that are due, atOnce of them at most, and reports whether there may be more.
func (s *silences) some() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.Steady(s.clock.Now())
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
