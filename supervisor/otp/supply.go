package otp

import "time"

// supply is how much time the machine has given to the program. A process is stuck when it makes no
// progress although it could have run. Elapsed time on the clock does not show that: when more
// goroutines want to run than there are processors, a busy process waits most of the time.
//
// The watch measures supply on itself. It sleeps for a moment, then waits behind all goroutines
// that wait for a processor (runtime.Gosched). It counts the moment, but not the time by which it
// came late. So a program that is stopped, throttled, or full of goroutines that want to run counts
// only a small part of the elapsed time, about the part for which one of its goroutines runs.
//
// The measurement does not see that another program takes the CPU from a busy thread, because the
// system soon runs threads that mostly sleep. Options.Contention reports that.
type supply struct {
	contention  func() (ran, waited time.Duration)
	ran, waited time.Duration // the latest values
	known       bool          // there are latest values
	// share is the part of the time that threads wanted to run for which they did run, over the last
	// second.
	share float64

	sum   time.Duration            // time supplied in all
	since time.Time                // begin of the pause that is counted next
	pause time.Duration            // intended length of that pause
	ticks [keptTicks]time.Duration // sum at the begin of each of the last ticks
}

const (
	// grace is how much longer than intended a pause may be and still count as a whole: one turn of
	// another goroutine, which may be the stuck one.
	grace = beat
	// keptTicks is for how many past ticks the sum is known. A busy process is looked at for the first
	// time before as many ticks have passed.
	keptTicks = 2 * lookEvery
)

// expect begins a pause.
func (s *supply) expect(now time.Time, pause time.Duration) { s.since, s.pause = now, pause }

// came ends a pause.
func (s *supply) came(now time.Time) {
	given := max(0, min(now.Sub(s.since), s.pause+grace))
	s.sum += time.Duration(float64(given) * s.share)
	s.since, s.pause = now, 0
}

// ticked records the begin of the ticks after before, up to tick.
func (s *supply) ticked(before, tick uint64) {
	for t := before + 1; t <= tick; t++ {
		s.ticks[t%keptTicks] = s.sum
	}
}

// at returns the sum when tick t began, or the oldest known one when that is too long ago.
func (s *supply) at(t, now uint64) time.Duration {
	if now-t >= keptTicks {
		t = now - keptTicks + 1
	}
	return s.ticks[t%keptTicks]
}

// measure updates share. It is called once a second; it asks contention only while there are
// suspects.
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
