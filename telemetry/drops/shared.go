package drops

import (
	"sync"

	"mcpd/internal/clock"
	"mcpd/telemetry"
)

// Shared is a Tally for concurrent callers that are not actors. It is safe for concurrent use.
// Its creator must call End.
type Shared struct {
	emit  telemetry.Sink
	clock clock.Clock

	mu    sync.Mutex // guards the fields below, and the order of emitted events
	tally Tally
	timer clock.Timer // nil while no event waits
	ended bool
}

// NewShared returns a Shared. It has no timer before the first drop that must wait.
func NewShared(c clock.Clock, emit telemetry.Sink) *Shared { return &Shared{emit: emit, clock: c} }

// Notification reports a dropped notification, at once or together with others. It never blocks.
// After End it reports at once.
func (s *Shared) Notification(e telemetry.NotificationDropped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		s.emit(e)
		return
	}
	if all, tell := Drop(&s.tally, e, s.clock.Now()); tell {
		s.emit(all)
	}
	s.schedule()
}

// End reports everything that waits. It is idempotent.
func (s *Shared) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	for _, e := range s.tally.Rest() {
		s.emit(e)
	}
}

// due is the function of the timer.
func (s *Shared) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if s.ended {
		return
	}
	for _, e := range s.tally.Due(s.clock.Now()) {
		s.emit(e)
	}
	s.schedule()
}

// schedule starts the timer if events wait. The mutex is held.
func (s *Shared) schedule() {
	if s.timer != nil {
		return
	}
	if wait, any := s.tally.Next(s.clock.Now()); any {
		s.timer = s.clock.AfterFunc(wait, s.due)
	}
}
