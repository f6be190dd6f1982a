package otp

import "time"

// heirTrial is how long after the start of an incarnation a panic speaks against what it took over. Init and whatever it sets in motion
// are over by then; it is far less than the window of any supervisor here.
const heirTrial = time.Second

// heirTries is how many incarnations in a row may panic within that time before the next one starts without the heir. One may be chance and
// two a coincidence; with more a usual intensity (5) is used up before it helps.
const heirTries = 3

// abandonHeir drops the row's heir and tells it.
func (r *row) abandonHeir(reason error) {
	r.mu.Lock()
	heir := r.heir
	r.heir = nil
	r.mu.Unlock()
	if h, ok := heir.(interface{ Abandon(reason error) }); ok {
		r.sys.guarded(r.path, "heir", func() { h.Abandon(reason) })
	}
}

// blame is what the end of an incarnation says about the heir it was given.
type blame uint8

const (
	nobody  blame = iota // it lived on, or ended in an orderly way
	message              // it panicked at once on what somebody had sent, which is gone
	itself               // it panicked at once on what it did by itself: Init, a timer, a goroutine, a message of its own
)

// blame is what an end says. The heir is the one there is now: an incarnation that makes one in Init is as bad when it goes on so.
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

// tried takes note of what the end of an incarnation says about the heir.
func (k *kid) tried(b blame) {
	k.blame = b
	if k.crashes++; b == nobody {
		k.crashes = 0
	}
}

// doubted reports whether a child that is about to be restarted does better without its heir. A panic on a message is the message's fault; only
// when the intensity allows no other restart is the heir given up for it, because it would be lost with the supervisor.
func (s *state) doubted(now time.Time, k *kid) bool {
	enough := max(1, min(heirTries, s.intensity.Restarts-1))
	return k.crashes >= enough && (k.blame == itself || s.window.spent(now))
}
