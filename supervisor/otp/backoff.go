package otp

import (
	"errors"
	"time"
)

// Backoff makes a supervisor pause a child whose restarts exceed the intensity, where OTP's
// supervisor gives up. The intensity then applies to each child by itself. While a child is paused
// nothing runs in its row: Send returns ErrNoProc at once, the carried state stays, and siblings
// are not affected.
//
// The first pause takes First. Each further pause takes twice as long as the one before, at most
// Max. After a child has run for Stable, its next pause takes First again. All three must be above
// zero, Max not below First.
//
// A crash on an Attributed message is charged to the origin of the message: the child restarts at
// once and the crash does not count. If OwnFaultOrigins (3) different origins crash the child
// within OwnFaultTime (1 min), the child itself is taken to be at fault, and is paused.
//
// OTP has nothing like it. Use it for supervisors near the root, whose end would end the program.
// The zero Backoff is off. It can be combined only with OneForOne.
type Backoff struct {
	First, Max, Stable time.Duration
	// AtStart lets the supervisor start without children whose start fails. These children are paused
	// too.
	AtStart bool
}

func (b Backoff) isZero() bool { return b == Backoff{} }

// failures is what a supervisor with a Backoff knows about a child that has crashed.
type failures struct {
	window  window
	charges charges
	gap     time.Duration // of the last pause
	since   time.Time     // of the last start that followed a pause
}

// restartOrPause restarts a child of a supervisor with a Backoff, or pauses it.
func (s *state) restartOrPause(now time.Time, k *childRecord, reason error) {
	if k.failures == nil {
		k.failures = &failures{window: newWindow(s.intensity)}
	}
	f := k.failures
	own := false
	if k.origin != "" && !errors.Is(reason, ErrGiveUp) {
		times, hold := f.charges.add(now, k.origin, k.lost)
		if own = k.ownFault || f.charges.own(); !own {
			s.out = append(s.out, action{
				verb: doCharge, child: k, reason: reason, origin: k.origin, times: times, delay: hold,
			})
			k.crashes = 0 // the message is to blame, not the carried state
			s.start(k, true)
			return
		}
	}
	pause := own || errors.Is(reason, ErrGiveUp) || !f.window.add(now)
	if s.dropsCarried(now, k) {
		k.crashes = 0
		s.out = append(s.out, action{verb: doDropCarried, child: k, reason: reason})
	}
	if pause {
		s.pause(now, k, reason)
		return
	}
	s.start(k, true)
}

// pause stops a child for a while and starts it again later.
func (s *state) pause(now time.Time, k *childRecord, reason error) {
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
	s.out = append(s.out, action{verb: doPause, child: k, delay: f.gap, reason: reason})
	s.arm(k, f.gap)
	s.stepped(now, k)
}

// resume starts a child whose pause is over.
func (s *state) resume(k *childRecord) {
	s.disarm(k)
	s.start(k, true)
}
