package drops

import (
	"sync"

	"mcpd/internal/clock"
	"mcpd/telemetry"
)

// Shared is a Tally of many that drop at the same time and are no actors. It is safe for concurrent use. Whoever makes one ends it.
type Shared struct {
	emit  telemetry.Sink
	clock clock.Clock

	mu    sync.Mutex // guards the fields below, and the order in which events are told
	tally Tally
	timer clock.Timer // nil while none wait to be told
	over  bool
}

// NewShared makes a Shared, which has no timer before the first drop that waits.
func NewShared(c clock.Clock, emit telemetry.Sink) *Shared { return &Shared{emit: emit, clock: c} }

// Notification tells of a notification that was dropped, now or together with others. It never blocks, and after End it is now.
func (s *Shared) Notification(e telemetry.NotificationDropped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		s.emit(e)
		return
	}
	if all, tell := Drop(&s.tally, e, s.clock.Now()); tell {
		s.emit(all)
	}
	s.time()
}

// End tells of all that waits. It is idempotent.
func (s *Shared) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	for _, e := range s.tally.Rest() {
		s.emit(e)
	}
}

// due is what the timer calls.
func (s *Shared) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if s.over {
		return
	}
	for _, e := range s.tally.Due(s.clock.Now()) {
		s.emit(e)
	}
	s.time()
}

// time sees to it that what waits is told. It is called with the mutex held.
func (s *Shared) time() {
	if s.timer != nil {
		return
	}
	if wait, any := s.tally.Next(s.clock.Now()); any {
		s.timer = s.clock.AfterFunc(wait, s.due)
	}
}
