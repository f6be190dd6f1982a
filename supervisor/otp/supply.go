package otp

import "time"

// supply is how much time the machine has given the program. A process is stuck when it makes no
// progress although it could have run, and not because the clock went on: with more to run than
// there are processors, a process that is only busy waits most of the time.
//
// The watch measures that on itself. It sleeps for a moment, then waits behind all goroutines that
// wait for a processor (runtime.Gosched), and counts the moment, and nothing of the time by which
// it came late. So a program that is stopped, throttled, or full of goroutines that all want to run
// counts a small part of the time that passes, which is about the part for which one goroutine of
// it runs. What it does not see is another program that takes the CPU from a thread in the middle
// of work, because the system lets those run soon who mostly sleep. Options.Contention tells of
// that.
type supply struct {
	contention  func() (ran, waited time.Duration)
	ran, waited time.Duration // as told last
	known       bool          // whether they were told
	share       float64       // of the time that threads wanted to run, what they ran; from the last second

	sum   time.Duration            // what was supplied in all
	since time.Time                // the begin of the pause that is counted next
	pause time.Duration            // how long it was meant to be
	ticks [keptTicks]time.Duration // the sum at the begin of each of the last ticks
}

const (
	// grace is by how much a pause may be too long and count as a whole: one turn of another
	// goroutine, which may be the one that is stuck.
	grace = beat
	// keptTicks is for how many ticks the sum is known: more than pass until a process that is busy
	// is looked at for the first time.
	keptTicks = 2 * lookEvery
)

// expect begins a pause.
func (s *supply) expect(now time.Time, pause time.Duration) { s.since, s.pause = now, pause }

// came ends it.
func (s *supply) came(now time.Time) {
	given := max(0, min(now.Sub(s.since), s.pause+grace))
	s.sum += time.Duration(float64(given) * s.share)
	s.since, s.pause = now, 0
}

// ticked notes the begin of the ticks after before, up to tick.
func (s *supply) ticked(before, tick uint64) {
	for t := before + 1; t <= tick; t++ {
		s.ticks[t%keptTicks] = s.sum
	}
}

// at is the sum when a tick began, or, when that is long ago, the oldest one known.
func (s *supply) at(t, now uint64) time.Duration {
	if now-t >= keptTicks {
		t = now - keptTicks + 1
	}
	return s.ticks[t%keptTicks]
}

// measure asks how much the machine lets the program run, once a second while anybody is suspected
// of being stuck.
func (s *supply) measure(suspects bool) {
	if s.contention == nil || !suspects {
		s.share, s.known = 1, false
		return
	}
	ran, waited := s.contention()
	if more, late := ran-s.ran, waited-s.waited; s.known && more >= 0 && late >= 0 && more+late > 0 {
		s.share = float64(more) / float64(more+late)
	}
	s.ran, s.waited, s.known = ran, waited, true
}
