package otp

import (
	"errors"
	"time"
)

// Backoff has a supervisor pause a child whose restarts exceed the intensity, where OTP's gives up.
// The intensity then holds for each child by itself. While a child is paused nothing runs in its
// row: messages are refused at once with ErrNoProc, its heir stays, and its siblings notice nothing.
// The pause begins with First and doubles up to Max; a child that ran for Stable begins anew.
//
// A crash on an Attributed message is charged to its origin: the child restarts at once and the
// crash does not count, unless crashes of OwnOrigins origins show that the child is at fault itself.
// Then it is paused.
//
// OTP has no such thing. It is for supervisors near the root, whose end would be that of the process.
// The zero Backoff is none. It goes with OneForOne only.
type Backoff struct {
	First, Max, Stable time.Duration
	// Boots has the supervisor start without children that do not start: they are paused as well.
	Boots bool
}

func (b Backoff) isZero() bool { return b == Backoff{} }

// failures are what a supervisor with a Backoff knows of a child that has crashed.
type failures struct {
	window  window
	charges charges
	gap     time.Duration // of the last pause
	since   time.Time     // of the last start that followed a pause
}

// again restarts a child of a supervisor with a Backoff, or pauses it.
func (s *state) again(now time.Time, k *kid, reason error) {
	if k.failures == nil {
		k.failures = &failures{window: newWindow(s.intensity)}
	}
	f := k.failures
	own := false
	if k.origin != "" && !errors.Is(reason, ErrGiveUp) {
		times, hold := f.charges.add(now, k.origin, k.lost)
		if own = k.held || f.charges.own(); !own {
			s.out = append(s.out, action{verb: doCharge, kid: k, reason: reason, origin: k.origin, times: times, delay: hold})
			k.crashes = 0 // what it was handed is not to blame
			s.start(k, true)
			return
		}
	}
	pause := own || errors.Is(reason, ErrGiveUp) || !f.window.add(now)
	if s.doubted(now, k) {
		k.crashes = 0
		s.out = append(s.out, action{verb: doDisown, kid: k, reason: reason})
	}
	if pause {
		s.pause(now, k, reason)
		return
	}
	s.start(k, true)
}

// pause lets a child rest and starts it again later.
func (s *state) pause(now time.Time, k *kid, reason error) {
	f := k.failures
	if !f.since.IsZero() && now.Sub(f.since) >= s.backoff.Stable {
		f.gap = 0
	}
	f.gap = min(max(2*f.gap, s.backoff.First), s.backoff.Max)
	f.since = now.Add(f.gap)
	f.window = newWindow(s.intensity)
	if k.parked {
		k.parked = false
		s.do(doReap, k)
	} else {
		s.do(doRest, k)
	}
	s.roster.move(k, paused)
	s.out = append(s.out, action{verb: doPause, kid: k, delay: f.gap, reason: reason})
	s.arm(k, f.gap)
	s.stepped(now, k)
}

// resume starts a child whose pause is over.
func (s *state) resume(k *kid) {
	s.disarm(k)
	s.start(k, true)
}
