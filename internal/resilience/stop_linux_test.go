package resilience

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/load"
)

// drainGoal bounds a stop under load, from SIGTERM to the exit.
const drainGoal = 25 * time.Second

// endRecorder is a client that records how each call ended.
type endRecorder struct {
	load.Client
	all *sync.Map // error or nil, by nonce
}

func (e endRecorder) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	got, err := e.Client.Call(ctx, nonce)
	e.all.Store(nonce, err)
	if errors.Is(err, syscall.ECONNREFUSED) {
		time.Sleep(20 * time.Millisecond) // a client that was refused does not retry at once
	}
	return got, err
}

// openStream opens the stream of a session. The channel gets the error that ended the stream, or
// nil if the stream ended in order.
func openStream(t *testing.T, s *load.Session) <-chan error {
	t.Helper()
	body, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // ends with the stream
		_, err := io.Copy(io.Discard, body)
		ended <- errors.Join(err, body.Close())
	}()
	return ended
}

// The host is told to stop under load that never pauses, so it serves for two thirds of its drain
// time. Each call that it accepted is answered. Calls that it did not answer have had no effect.
// Streams end in order, and no process is left.
func hostStopped(t *testing.T, r *table) {
	for _, loop := range []struct {
		name string
		rate float64
	}{{"closed loop", 0}, {"open loop", fullOrShort(1000.0, 200)}} {
		var took []time.Duration
		var turned, cut []float64
		for round := range fullOrShort(10, 1) {
			h := startWith(t, "limits: {drain: "+fullOrShort("25s", "5s")+"}\n", leavesProcess)
			users, callers := h.sessions(8, note), h.sessions(4, late)
			streams := make([]<-chan error, len(users))
			for i, s := range users {
				streams[i] = openStream(t, s)
			}
			var ends sync.Map
			noisy := func(sessions []*load.Session) (all []load.Client) {
				for _, s := range sessions {
					all = append(all, endRecorder{s, &ends})
				}
				return all
			}
			ctx, stop := context.WithCancel(t.Context())
			var runs sync.WaitGroup
			for i, o := range []load.Options{options(uint64(2*round+1), 32, 1<<20),
				options(uint64(2*round+2), 16, 1<<20)} {
				o.Rate = loop.rate
				c := noisy(users)
				if i > 0 {
					o.Rate, c = 0, noisy(callers)
				}
				runs.Go(func() {
					if _, err := load.Run(ctx, c, o); err != nil {
						t.Error(err)
					}
				})
			}
			eventually(t, "used", func() bool { return len(effectsOf(t, h.effects)) > 200 })
			at := time.Now()
			stopped := make(chan int, 1)
			go func() { stopped <- h.Stop() }() // awaited below
			// Clients go on calling as long as the host exists.
			if code := <-stopped; code != 0 {
				t.Errorf("exit code %d", code)
			}
			took = append(took, time.Since(at))
			stop()
			runs.Wait()
			for i, ended := range streams {
				if err := <-ended; err != nil {
					t.Errorf("stream %d was cut: %v", i, err)
				}
			}
			if remaining := h.Processes(); len(remaining) > 0 {
				t.Errorf("%v are left of the host that was stopped", remaining)
			}
			effects := checkOnce(t, h.effects)
			refused, broken := 0, 0
			ends.Range(func(nonce, ending any) bool {
				done := effects[string(nonce.(load.Nonce))]
				err, _ := ending.(error)
				switch {
				case err == nil && done == 0:
					t.Errorf("%s was answered and not done", nonce)
				case err != nil && done > 0:
					t.Errorf("%s was done and not answered: %v", nonce, err)
				case errors.Is(err, syscall.ECONNREFUSED):
					refused++
				case err != nil:
					broken++
					t.Logf("%s was turned away: %v", nonce, err)
				}
				return true
			})
			turned, cut = append(turned, float64(refused)), append(cut, float64(broken))
		}
		r.times("host told to stop, "+loop.name+": gone after", took, drainGoal)
		r.Figures = append(r.Figures,
			load.NewFigure("host told to stop, "+loop.name+": calls turned away by a closed port",
				"calls", turned, 0),
			load.NewFigure("host told to stop, "+loop.name+": calls not begun and turned away otherwise",
				"calls", cut, 0))
	}
	stopTwice(t, r)
}

// A second SIGTERM ends the host without a further drain.
func stopTwice(t *testing.T, r *table) {
	var took []time.Duration
	for range fullOrShort(5, 1) {
		h := start(t, leavesProcess)
		s := h.sessions(1, hold)
		ended := h.holdCalls(s[0], 1, 1)
		if err := syscall.Kill(h.PID(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		eventually(t, "draining", func() bool { return len(h.events("draining")) > 0 })
		at := time.Now()
		h.Signal(syscall.SIGTERM)
		took = append(took, time.Since(at))
		<-ended
		eventually(t, "gone", func() bool { return len(h.Processes()) == 0 })
	}
	r.times("host told to stop twice: gone after", took, orphansGoal)
}
