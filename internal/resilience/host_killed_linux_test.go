package resilience

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// successRecorder is a client that records which calls succeeded.
type successRecorder struct {
	load.Client
	done *sync.Map // by nonce
}

func (k successRecorder) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	got, err := k.Client.Call(ctx, nonce)
	if err == nil {
		k.done.Store(nonce, true)
	}
	return got, err
}

// The host is killed under load and started again at its address. Every session that it had
// acknowledged goes on with its id. No process that it had started is left. No call has its
// effect twice, and every acknowledged call has its effect.
func hostKilled(t *testing.T, r *table) {
	h := start(t, leavesProcess)
	before := h.baseline()
	var ready, orphans []time.Duration
	// Times until a host is ready, in milliseconds: a new host, and the one that was killed.
	var bare, again []float64
	var failed []float64
	var settled []time.Duration
	for round := range fullOrShort(10, shortPairs) {
		bare = append(bare, milliseconds(bareHost(t)))
		sessions := h.sessions(fullOrShort(1000, 100), note)
		var done sync.Map
		clients := make([]load.Client, len(sessions))
		for i, s := range sessions {
			clients[i] = successRecorder{s, &done}
		}
		ctx, stop := context.WithCancel(t.Context())
		o := options(uint64(round+1), fullOrShort(64, 8), 1_000_000)
		o.Rate = fullOrShort(1000.0, 200)
		ended := make(chan load.Result, 1)
		go func() { // ends when it is stopped; awaited below
			result, err := load.Run(ctx, clients, o)
			if err != nil {
				panic(err) // a mistake in the options
			}
			ended <- result
		}()
		flows := func() {
			t.Helper()
			from := len(effectsOf(t, h.effects))
			eventually(t, "used", func() bool {
				return len(effectsOf(t, h.effects)) >= from+fullOrShort(1000, 50)
			})
		}
		flows()

		killed := time.Now()
		h.Kill()
		gone := make(chan time.Duration, 1)
		go func(h *host) { // ends when all processes have exited, or after patience; awaited below
			for len(h.Processes()) > 0 && time.Since(killed) < patience {
				time.Sleep(10 * time.Millisecond)
			}
			gone <- time.Since(killed)
		}(h)
		dead := h
		h = h.restart()
		ready = append(ready, time.Since(killed))
		again = append(again, milliseconds(ready[round]))
		flows()
		stop()
		result := <-ended
		if c := result.Counts; c.Lost+c.Crosstalk+c.Duplicate > 0 || c.OK == 0 {
			t.Errorf("load: %+v, errors %v", c, result.Errors)
		}
		failed = append(failed, float64(result.Counts.Failed))
		orphans = append(orphans, <-gone)
		if remaining := dead.Processes(); len(remaining) > 0 {
			t.Errorf("%v are left of the host that was killed", remaining)
		}
		for i, s := range sessions {
			nonce := load.Nonce(fmt.Sprintf("again-%d-%d", round, i))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if got, err := s.Call(ctx, nonce); err != nil || got != nonce {
				t.Errorf("session %d of the host that was killed: %q, %v", i, got, err)
			}
			cancel()
			done.Store(nonce, true)
		}
		effects := checkOnce(t, h.effects)
		done.Range(func(nonce, _ any) bool {
			if effects[string(nonce.(load.Nonce))] == 0 {
				t.Errorf("%s was acknowledged and not done", nonce)
			}
			return true
		})
		closeSessions(t, sessions)
		settled = append(settled, h.timeToBaseline(before))
	}
	r.times(fmt.Sprintf("host killed with %d sessions: ready again after", fullOrShort(1000, 100)),
		ready, readyGoal)
	r.judgeRecovery(t, "host killed: ready again after", bare, again)
	r.times("host killed: no process of it is left after", orphans, orphansGoal)
	r.Figures = append(r.Figures,
		load.NewFigure("host killed: calls that failed meanwhile", "calls", failed, 0))
	r.times("host killed: back at the baseline after", settled, baselineGoal)
}

// bareHost returns how long the program takes from its start until it is ready, with the same
// configuration and nothing to restore.
func bareHost(t *testing.T) time.Duration {
	t.Helper()
	h := prepare(t)
	h.configure("tenants: {default: {servers: {small: " + h.smallServer(leavesProcess) + "}}}")
	begun := time.Now()
	h.launch(mcptest.HostOptions{})
	took := time.Since(begun)
	h.Stop()
	return took
}
