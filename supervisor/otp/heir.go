package otp

import "time"

// heirTrial is how long after the end of the previous incarnation a panic counts against the
// carried state. Init and the work that it starts are over by then. The time is far less than the
// intensity window of any supervisor here.
const heirTrial = time.Second

// heirTries is how many incarnations in a row may panic within heirTrial before the next one starts
// without the carried state. One panic may be chance and two a coincidence. With more, a usual
// intensity of 5 restarts would be used up first.
const heirTries = 3

// abandonHeir drops the row's carried state and calls its Abandon method, if it has one.
func (r *row) abandonHeir(reason error) {
	r.mu.Lock()
	heir := r.heir
	r.heir = nil
	r.mu.Unlock()
	if h, ok := heir.(interface{ Abandon(reason error) }); ok {
		r.sys.guarded(r.path, "heir", func() { h.Abandon(reason) })
	}
}

// blame says what the end of an incarnation tells about the carried state that it was given.
type blame uint8

const (
	// The incarnation did not end soon after its start, ended without a panic, or has no carried
	// state.
	nobody blame = iota
	// It panicked at once on a message from somebody else. That message is gone.
	message
	// It panicked at once on its own work: Init, a timer, a goroutine, or a message that it sent
	// itself.
	itself
)

// blame classifies an end. It looks at the carried state that there is now: an incarnation that
// creates one in Init and crashes with it each time is just as bad.
func (v *supervisor) blame(k *kid, e *exit) blame {
	rep := e.report
	if rep == nil || len(rep.PCs) == 0 || !k.restarted || rep.At.Sub(k.driver.ended) >= heirTrial {
		return nobody
	}
	r := k.driver.row
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.heir == nil:
		return nobody
	case rep.own:
		return itself
	}
	return message
}

// tried records what the end of an incarnation tells about the carried state.
func (k *kid) tried(b blame) {
	k.blame = b
	if k.crashes++; b == nobody {
		k.crashes = 0
	}
}

// doubted reports whether a child that is about to be restarted should start without its carried
// state. For a panic on somebody else's message the message is to blame. Then the state is dropped
// only when the intensity allows no further restart, because it would be lost with the supervisor
// anyway.
func (s *state) doubted(now time.Time, k *kid) bool {
	enough := max(1, min(heirTries, s.intensity.Restarts-1))
	return k.crashes >= enough && (k.blame == itself || s.window.spent(now))
}
