package otp

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// heirTrial is how long after the start of an incarnation a panic speaks against what it took over. Init and whatever it sets in motion
// are over by then; it is far less than the window of any supervisor here.
const heirTrial = time.Second

// heirTries is how many incarnations in a row may panic within that time before the next one starts without the heir. One may be chance and
// two a coincidence; with more a usual intensity (5) is used up before it helps.
const heirTries = 3

// Everything is the part that a Dropped names when nothing of an heir was taken over.
const Everything = "all"

// ErrDamaged is why who waited for a part of an heir gets no answer.
var ErrDamaged = errors.New("state damaged by a crash")

// Dropped is a part of an heir that is not taken over, and why: a few words each, out of the code.
type Dropped struct {
	Part, Reason string
	Waiter       Failer // is told ErrDamaged; nil when nobody waited for it
}

// Inherit is the heir that an earlier incarnation has left, after repair has made it sound: repair takes out what cannot be right, and says what
// that was; each is reported as HeirDropped. It is for Init. When repair panics, or the heir is of another type, the whole heir is abandoned and
// the incarnation starts without. Inherit reports false when there is none.
func Inherit[H any](p *Process, repair func(heir H) []Dropped) (H, bool) {
	var none H
	v := p.Heir()
	if v == nil {
		return none, false
	}
	heir, ok := v.(H)
	if !ok {
		p.disinherit(fmt.Errorf("heir is a %T, not a %T", v, none))
		return none, false
	}
	dropped, err := attempt(heir, repair)
	if p.isOver() { // it was stuck meanwhile, and the heir is somebody else's
		return none, false
	}
	if err != nil {
		p.disinherit(err)
		return none, false
	}
	p.tell(dropped)
	return heir, true
}

// tell answers who waited for what was dropped, and reports it: each part and reason once.
func (p *Process) tell(dropped []Dropped) {
	var reports []HeirDropped
	var left []lost
	for _, d := range dropped {
		if d.Waiter != nil {
			left = append(left, lost{p.Path(), d.Waiter, ErrDamaged})
		}
		i := slices.IndexFunc(reports, func(r HeirDropped) bool { return r.Part == d.Part && r.Reason == d.Reason })
		if i < 0 {
			i = len(reports)
			reports = append(reports, HeirDropped{Row: p.guard.row.about(p.inc, p.Now()), Part: d.Part, Reason: d.Reason})
		}
		reports[i].Count++
	}
	defer p.guard.sys.mourn(left)
	each(reports, func(r HeirDropped) { p.guard.sys.emit(r) })
}

func attempt[H any](heir H, repair func(H) []Dropped) (dropped []Dropped, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("repair: %w", &PanicError{v})
		}
	}()
	return repair(heir), nil
}

// disinherit lets go of an heir that this incarnation cannot use.
func (p *Process) disinherit(reason error) {
	if p.isOver() {
		return
	}
	defer p.guard.sys.emit(HeirDropped{p.guard.row.about(p.inc, p.Now()), Everything, reason.Error(), 1})
	p.guard.row.abandonHeir(reason)
}

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
