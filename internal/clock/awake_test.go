package clock

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stopping is the clock of a process that can be stopped. During a stop no timer fires; overdue
// timers fire when the process continues.
type stopping struct {
	mu   sync.Mutex
	over chan struct{} // nil while it runs
}

func (s *stopping) Now() time.Time { return time.Now() }

func (s *stopping) AfterFunc(d time.Duration, f func()) Timer {
	return time.AfterFunc(d, func() {
		s.mu.Lock()
		over := s.over
		s.mu.Unlock()
		if over != nil {
			<-over
		}
		f()
	})
}

func (s *stopping) stop(d time.Duration) {
	s.mu.Lock()
	over := make(chan struct{})
	s.over = over
	s.mu.Unlock()
	time.Sleep(d)
	s.mu.Lock()
	s.over = nil
	s.mu.Unlock()
	close(over)
}

// A timer with an hour left when the process is stopped has an hour left when the process
// continues, however long the stop was.
func TestNothingExpiresForAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &stopping{}
		a := NewAwake(base)
		defer a.Close()
		start := a.Now()
		var woken atomic.Int64 // by its clock
		a.AfterFunc(10*time.Second, func() { woken.Store(int64(a.Now().Sub(start))) })
		began := time.Now()
		time.Sleep(4 * time.Second)
		for _, d := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
			before := a.Now()
			base.stop(d)
			if got := a.Now().Sub(before); got < 0 || got > fine {
				t.Errorf("stopped for %s: the clock went on by %s", d, got)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := time.Duration(woken.Load()); got != 0 {
			t.Errorf("woken after %s of its clock", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := time.Duration(woken.Load()); got < 10*time.Second || got > 10*time.Second+fine {
			t.Errorf("woken after %s of its clock", got)
		}
		if all := time.Since(began); all < time.Hour {
			t.Errorf("all of it took %s", all)
		}
	})
}

// A process is not taken for stopped because nobody reads the clock.
func TestQuietIsNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAwake(System)
		start, woken := time.Now(), time.Duration(-1)
		a.AfterFunc(time.Hour, func() { woken = time.Since(start) })
		never := a.AfterFunc(time.Minute, func() { t.Error("woken though stopped") })
		if !never.Stop() || never.Stop() {
			t.Error("Stop does not say whether it did")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if woken != time.Hour || !a.Now().Equal(time.Now()) {
			t.Errorf("woken after %s, behind by %s", woken, time.Since(a.Now()))
		}
		a.Close()
	})
}

// A timer that was due by the base's time during a stop can still be stopped afterwards.
func TestTimerThatWaitsAgainIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &stopping{}
		a := NewAwake(base)
		defer a.Close()
		timer := a.AfterFunc(2*time.Second, func() { t.Error("woken though stopped") })
		base.stop(time.Minute)
		synctest.Wait()
		if !timer.Stop() {
			t.Error("it was over")
		}
		time.Sleep(time.Minute)
	})
}
