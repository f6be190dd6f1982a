package streamable

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/clock"
)

// timers counts the timers that are started.
type timers struct {
	clock.Clock
	started atomic.Int32
}

func (c *timers) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.started.Add(1)
	return c.Clock.AfterFunc(d, f)
}

// Each keep-alive timer expires at its own time, whichever others start and end in the meantime. A
// stopped timer does not expire.
func TestSilenceIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 15 * time.Second
		s := &keepAliveTimers{clock: clock.System, most: most}
		for range 200 {
			go func() {
				time.Sleep(rand.N(time.Minute))
				out, w := makeStreamResponse(), &keepAliveTimer{}
				began, ends := time.Now(), rand.N(2*most)
				s.begin(w, &out)
				select {
				case <-out.wake:
					if took := time.Since(began); took != most || !out.ticked.Load() {
						t.Errorf("told after %v, want %v", took, most)
					}
					s.end(w)
				case <-time.After(ends):
					if s.end(w); ends > most || out.ticked.Load() {
						t.Errorf("not told within %v", ends)
					}
				}
				time.Sleep(2 * most)
				if len(out.wake) != 0 {
					t.Error("told after the end")
				}
			}()
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s.first != nil || s.last != nil || s.armed {
			t.Error("something is left")
		}
	})
}

// Calls that are answered quickly share one clock timer.
func TestSilencesShareATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := &timers{Clock: clock.System}
		s := &keepAliveTimers{clock: counted, most: 15 * time.Second}
		for range 1000 {
			out, w := makeStreamResponse(), &keepAliveTimer{}
			s.begin(w, &out)
			time.Sleep(time.Millisecond)
			s.end(w)
		}
		if got := counted.started.Load(); got != 1 {
			t.Errorf("%d timers in a second of calls, want 1", got)
		}
		time.Sleep(time.Minute)
	})
}

// However many timers expire at once, a response that starts to wait in the meantime waits for only
// some of them.
func TestSilencesAreToldInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &keepAliveTimers{clock: clock.System, most: time.Second}
		outs := make([]streamResponse, 2*atOnce+1)
		for i := range outs {
			outs[i] = makeStreamResponse()
			s.begin(&keepAliveTimer{}, &outs[i])
		}
		told := func() (n int) {
			for i := range outs {
				n += len(outs[i].wake)
			}
			return n
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := told(); n != len(outs) {
			t.Errorf("%d told, want all %d", n, len(outs))
		}
		for i := range outs {
			outs[i] = makeStreamResponse()
			s.begin(&keepAliveTimer{}, &outs[i])
		}
		s.mu.Lock()
		for w := s.first; w != nil; w = w.after {
			w.due = 0
		}
		s.mu.Unlock()
		if more := s.fireDue(); !more || told() != atOnce {
			t.Errorf("%d told in one go, want %d", told(), atOnce)
		}
		s.fire()
	})
}
