package resilience

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/load"
)

// The load during a crash.
const (
	crashSessions = 8
	crashWorkers  = 32
	crashHeld     = 32 // calls that begin before the crash and end after it
)

// triggerClient is a client that calls do once, before the call with the number at.
type triggerClient struct {
	load.Client
	calls *atomic.Int64
	at    int64
	do    func() error
}

func (w triggerClient) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	if w.calls.Add(1) == w.at {
		if err := w.do(); err != nil {
			return "", err
		}
	}
	return w.Client.Call(ctx, nonce)
}

// actorCrashes crashes the actor of a row of a tenant in the middle of a run of calls, while the
// server holds other calls. The crash fails exactly the given number of calls: it costs only the
// message that caused it. A run without a crash is measured beside each run with one. The
// tenant's failure budget allows five crashes in 30 s.
func actorCrashes(t *testing.T, r *table, row, kind string, poisoned uint64) {
	h := start(t, plainCommand)
	path := "mcpd/tenants/default/" + row
	before := h.baseline()
	// A subscriber hears of the change that each call causes.
	sessions, holder, freer := h.sessions(crashSessions, announce), h.sessions(1,
		hold), h.sessions(1, free)
	subscribe(t, holder[0])
	rate, calls, runs := fullOrShort(5000.0, 400), fullOrShort(25_000, 200), uint64(0)
	var reached []float64
	rounds := 0
	measure := func(crashes bool) (float64, error) {
		fails, do := uint64(0), func() error { return nil }
		if crashes {
			rounds++
			fails, do = poisoned, func() error { return h.injectPanic(path, kind) }
		}
		var made atomic.Int64
		clients := make([]load.Client, len(sessions))
		for i, s := range sessions {
			clients[i] = triggerClient{s, &made, int64(calls / 2), do}
		}
		runs += 2
		held := h.holdCalls(holder[0], runs, crashHeld)
		o := options(runs+1, crashWorkers, calls)
		o.Rate = rate
		result, err := load.Run(t.Context(), clients, o)
		if err != nil {
			return 0, err
		}
		if n := uint64(calls); result.Counts != (load.Counts{Sent: n, OK: n - fails, Failed: fails}) {
			return 0, fmt.Errorf("%+v, errors %v; want %d of %d calls failed", result.Counts,
				result.Errors, fails, n)
		}
		if _, err := freer[0].Call(t.Context(), load.Nonce(fmt.Sprintf("free-%d", runs))); err != nil {
			return 0, err
		}
		if result := <-held; result.Counts != (load.Counts{Sent: crashHeld, OK: crashHeld}) {
			return 0, fmt.Errorf("calls that the server held: %+v, errors %v; want each answered",
				result.Counts, result.Errors)
		}
		reached = append(reached, result.Throughput())
		return milliseconds(result.Quantile(0.99)), nil
	}
	r.compareDisturbed(t, "calls", row+" crashed", "not crashed", crashLimit, measure)
	eventually(t, "crashed in every round", func() bool {
		n := 0
		for _, e := range h.events("child_crashed") {
			if e.Path != path {
				t.Fatalf("%s crashed too", e.Path)
			}
			n++
		}
		return n == rounds
	})
	checkOnce(t, h.effects)
	closeSessions(t, slices.Concat(sessions, holder, freer))
	r.Figures = append(r.Figures, load.NewFigure(row+": calls made", "1/s", reached, 0))
	r.times(row+" crashed: back at the baseline after", []time.Duration{h.timeToBaseline(before)},
		baselineGoal)
}
