package otp

import "time"

// carriedBlameTime is how long after the end of the previous incarnation a panic counts against the
// carried state. Init and the work that it starts are over by then. The time is far less than the
// intensity window of any supervisor here.
const carriedBlameTime = time.Second

// carriedTries is how many incarnations in a row may panic within carriedBlameTime before the next
// one starts without the carried state. One panic may be chance and two a coincidence. With more, a
// usual intensity of 5 restarts would be used up first.
const carriedTries = 3

// dropCarried drops the row's carried state and calls its Abandon method, if it has one.
func (r *row) dropCarried(reason error) {
	r.mu.Lock()
	carried := r.carried
	r.carried = nil
	r.mu.Unlock()
	if h, ok := carried.(interface{ Abandon(reason error) }); ok {
		r.sys.safely(r.path, "carried state", func() { h.Abandon(reason) })
	}
}

// blame says what the end of an incarnation tells about the carried state that it was given.
type blame uint8

const (
	// The incarnation did not end soon after its start, ended without a panic, or has no carried
	// state.
	blameNone blame = iota
	// It panicked at once on a message from somebody else. That message is gone.
	blameMessage
	// It panicked at once on its own work: Init, a timer, a goroutine, or a message that it sent
	// itself.
	blameSelf
)

// blame classifies an end. It looks at the carried state that there is now: an incarnation that
// creates one in Init and crashes with it each time is just as bad.
func (v *supervisor) blame(k *childRecord, e *childExit) blame {
	rep := e.report
	if rep == nil || len(rep.PCs) == 0 || !k.restarted ||
		rep.At.Sub(k.driver.ended) >= carriedBlameTime {
		return blameNone
	}
	r := k.driver.row
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.carried == nil:
		return blameNone
	case rep.own:
		return blameSelf
	}
	return blameMessage
}

// recordEnd records what the end of an incarnation tells about the carried state.
func (k *childRecord) recordEnd(b blame) {
	k.blame = b
	if k.crashes++; b == blameNone {
		k.crashes = 0
	}
}

// dropsCarried reports whether a child that is about to be restarted should start without its
// carried state. For a panic on somebody else's message the message is to blame. Then the state is
// dropped only when the intensity allows no further restart, because it would be lost with the
// supervisor anyway.
func (s *state) dropsCarried(now time.Time, k *childRecord) bool {
	enough := max(1, min(carriedTries, s.intensity.Restarts-1))
	return k.crashes >= enough && (k.blame == blameSelf || s.window.spent(now))
}
