package resilience

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/internal/load"
)

// callsInFlight is the number of calls in flight at a server when it is killed.
const callsInFlight = 100

// outcomeRecorder is a client that records the error of each call, and when the first and the last
// ended.
type outcomeRecorder struct {
	load.Client
	mu          sync.Mutex // guards the fields below
	first, last time.Time
	errs        map[load.Nonce]error
}

func (o *outcomeRecorder) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	got, err := o.Client.Call(ctx, nonce)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	if o.errs == nil {
		o.first, o.errs = o.last, map[load.Nonce]error{}
	}
	o.errs[nonce] = err
	return got, err
}

// A server is killed in three situations, in turns. With calls in flight, each call has one
// outcome, which says that the call may have been executed, and no call is executed again. If the
// server does not read its input, the calls that were written to it have the same outcome, and
// all others go to the new process. If the server is idle, the next call gets a new process.
func serverKilled(t *testing.T, r *table) {
	h := start(t, plainCommand)
	before := h.baseline()
	bareEffects := filepath.Join(t.TempDir(), "bare")
	var seen, first, answered, bare, next, settled []time.Duration
	var written []float64
	for round := range fullOrShort(100, shortPairs) {
		s := append(h.sessions(1, hold), h.sessions(1, note)...)
		subscribe(t, s[1])
		took, o, at := h.killBusy(round, s[0])
		seen, first, answered = append(seen, took), append(first, o.first.Sub(at)), append(answered,
			o.last.Sub(at))
		written = append(written, float64(h.killNotReading(round, s[1])))

		measure := []func(){
			func() {
				b, err := bareSmall(bareEffects)
				if err != nil {
					t.Fatal(err)
				}
				bare = append(bare, b)
			},
			func() { next = append(next, h.killIdle(fmt.Sprintf("next-%d", round), s[1])) },
		}
		measure[round%2]()
		measure[1-round%2]()
		closeSessions(t, s)
		settled = append(settled, h.timeToBaseline(before))
	}
	checkOnce(t, h.effects)
	r.times("server killed: seen by the host after", seen, seenGoal)
	r.times(fmt.Sprintf("server killed: first of %d calls in its hand answered after", callsInFlight),
		first, seenGoal)
	r.times(fmt.Sprintf("server killed: last of %d calls in its hand answered after", callsInFlight),
		answered, answerGoal)
	r.Figures = append(r.Figures,
		load.NewFigure(
			fmt.Sprintf("server killed that did not read: of %d calls, those that had been written",
				callsInFlight),
			"calls", written, 0,
		))
	r.addShare(t, "server killed: next call answered after", bare, next)
	r.times("server killed: back at the baseline after", settled, baselineGoal)
}

// maybeExecuted reports whether the error says that the call may have been executed.
func maybeExecuted(err error) bool {
	var e *load.CallError
	var data struct {
		MaybeExecuted bool `json:"maybeExecuted"`
	}
	return errors.As(err, &e) && json.Unmarshal(e.Data, &data) == nil && data.MaybeExecuted
}

// killBusy kills the server with calls in flight. It returns how long the host took to see that,
// the outcomes of the calls, and the time of the kill.
func (h *host) killBusy(round int, s *load.Session) (seen time.Duration, o *outcomeRecorder,
	at time.Time) {
	h.t.Helper()
	o = &outcomeRecorder{Client: s}
	ended := h.holdCalls(o, uint64(2*round+1), callsInFlight)
	pid, at := h.kill()
	result := <-ended
	if want := (load.Counts{Sent: callsInFlight, Failed: callsInFlight}); result.Counts != want {
		h.t.Errorf("calls in hand: %+v, errors %v; want one error each", result.Counts, result.Errors)
	}
	for _, err := range o.errs {
		if !maybeExecuted(err) {
			h.t.Errorf("call in hand: %v, want one that says that it may have been executed", err)
		}
	}
	return h.exitSeenAt(pid).Sub(at), o, at
}

// largeCallClient is a client whose calls are so large that a pipe holds few of them.
type largeCallClient struct{ *load.Session }

func (l largeCallClient) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	text, err := l.Ask(ctx, "tools/call",
		fmt.Sprintf(`{"name":%q,"arguments":{"text":%q,"rest":%q}}`, note, nonce,
			strings.Repeat("x", 4<<10)))
	return load.Nonce(text), err
}

// killNotReading kills the server while it does not read its input. It returns how many calls had
// been written nevertheless.
func (h *host) killNotReading(round int, s *load.Session) (written int) {
	h.t.Helper()
	h.next(fmt.Sprintf("deaf-%d", round), s)
	stopProcess(h.t, h.Processes()[0])
	o := &outcomeRecorder{Client: largeCallClient{s}}
	ended := h.run(o, uint64(2*round+2), callsInFlight)
	eventually(h.t, "all on their way", func() bool {
		return h.metric("mcpd_requests_in_flight{") >= callsInFlight
	})
	h.kill()
	result := <-ended
	if c := result.Counts; c.Sent != callsInFlight || c.OK == 0 || c.OK+c.Failed != callsInFlight {
		h.t.Errorf(
			"calls to a server that did not read: %+v, errors %v; want those that were not written answered",
			c, result.Errors,
		)
	}
	effects := effectsOf(h.t, h.effects)
	for nonce, err := range o.errs {
		switch n := effects[string(nonce)]; {
		case err == nil && n != 1:
			h.t.Errorf("call %s that the next server answered: done %d times", nonce, n)
		case err != nil && (n != 0 || !maybeExecuted(err)):
			h.t.Errorf("call %s that had been written: done %d times, %v", nonce, n, err)
		}
	}
	return int(result.Counts.Failed)
}

// holdCalls makes calls that the server holds, and returns when the server has them all. The
// channel gets their result when they have ended.
func (h *host) holdCalls(c load.Client, run uint64, calls int) <-chan load.Result {
	h.t.Helper()
	before := len(effectsOf(h.t, h.effects))
	ended := h.run(c, run, calls)
	eventually(h.t, "all in the server's hand", func() bool {
		return len(effectsOf(h.t, h.effects)) == before+calls
	})
	return ended
}

// run makes calls, all concurrently. The channel gets their result when they have ended.
func (h *host) run(c load.Client, run uint64, calls int) <-chan load.Result {
	ended := make(chan load.Result, 1)
	go func() { // ends with its calls, for which the caller waits
		result, err := load.Run(h.t.Context(), []load.Client{c}, options(run, calls, calls))
		if err != nil {
			panic(err) // a mistake in the options
		}
		ended <- result
	}()
	return ended
}

// killIdle kills the server and returns the time until the next call had its answer. A call that
// the host begins before it sees the death may be answered with an error.
func (h *host) killIdle(name string, s load.Client) time.Duration {
	h.t.Helper()
	h.next(name+"-before", s)
	_, at := h.kill()
	h.next(name, s)
	return time.Since(at)
}

// next makes calls until one is answered.
func (h *host) next(name string, s load.Client) {
	h.t.Helper()
	for n, end := 0, time.Now().Add(patience); ; n++ {
		nonce := load.Nonce(fmt.Sprintf("%s-%d", name, n))
		ctx, cancel := context.WithTimeout(h.t.Context(), patience)
		got, err := s.Call(ctx, nonce)
		cancel()
		switch {
		case err == nil && got == nonce:
			return
		case err == nil || time.Now().After(end):
			h.t.Fatalf("call %s: %q, %v", nonce, got, err)
		}
	}
}

// kill kills the one server of the host.
func (h *host) kill() (pid int, at time.Time) {
	h.t.Helper()
	pids := h.Processes()
	if len(pids) != 1 {
		h.t.Fatalf("child processes %v, want one", pids)
	}
	at = time.Now()
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	return pids[0], at
}

// exitSeenAt returns when the host logged the end of a server. The log has whole milliseconds. saw
// returns the end of the millisecond, so the goal is checked against the later time.
func (h *host) exitSeenAt(pid int) (at time.Time) {
	h.t.Helper()
	eventually(h.t, "seen", func() bool {
		for _, e := range h.events("upstream_exited") {
			if e.PID == pid {
				at = e.Time.Add(time.Millisecond)
			}
		}
		return !at.IsZero()
	})
	return at
}
