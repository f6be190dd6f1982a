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

// inHand is how many calls a server has when it is killed.
const inHand = 100

// outcomes is a client that keeps what became of each call, and when.
type outcomes struct {
	load.Client
	mu          sync.Mutex // guards the fields below
	first, last time.Time
	errs        map[load.Nonce]error
}

func (o *outcomes) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
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

// A server is killed. A third of the times it has calls in hand: each has one outcome, which says that it may have been executed, and none is
// executed again. Another third it does not read: what was written to it is told so too, and the rest goes to the new one. The other times
// nobody uses it: the next call has a new one.
func serverKilled(t *testing.T, r *table) {
	h := start(t, alone)
	before := h.baseline()
	bareEffects := filepath.Join(t.TempDir(), "bare")
	var seen, first, answered, bare, next, settled []time.Duration
	var written []float64
	for round := range either(100, shortPairs) {
		s := append(h.sessions(1, hold), h.sessions(1, note)...)
		subscribe(t, s[1])
		took, o, at := h.killBusy(round, s[0])
		seen, first, answered = append(seen, took), append(first, o.first.Sub(at)), append(answered, o.last.Sub(at))
		written = append(written, float64(h.killDeaf(round, s[1])))

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
		leave(t, s)
		settled = append(settled, h.settles(before))
	}
	once(t, h.effects)
	r.times("server killed: seen by the host after", seen, seenGoal)
	r.times(fmt.Sprintf("server killed: first of %d calls in its hand answered after", inHand), first, seenGoal)
	r.times(fmt.Sprintf("server killed: last of %d calls in its hand answered after", inHand), answered, answerGoal)
	r.Figures = append(r.Figures, load.NewFigure(fmt.Sprintf("server killed that did not read: of %d calls, those that had been written", inHand), "calls", written, 0))
	r.shares(t, "server killed: next call answered after", bare, next)
	r.times("server killed: back at the baseline after", settled, baselineGoal)
}

// doubtful reports whether a caller was told that its call may have been executed.
func doubtful(err error) bool {
	var e *load.CallError
	var data struct {
		MaybeExecuted bool `json:"maybeExecuted"`
	}
	return errors.As(err, &e) && json.Unmarshal(e.Data, &data) == nil && data.MaybeExecuted
}

// killBusy kills the server with calls in its hand, and says when the host saw it and what became of them.
func (h *host) killBusy(round int, s *load.Session) (seen time.Duration, o *outcomes, at time.Time) {
	h.t.Helper()
	o = &outcomes{Client: s}
	ended := h.hand(o, uint64(2*round+1), inHand)
	pid, at := h.kill()
	result := <-ended
	if want := (load.Counts{Sent: inHand, Failed: inHand}); result.Counts != want {
		h.t.Errorf("calls in hand: %+v, errors %v; want one error each", result.Counts, result.Errors)
	}
	for _, err := range o.errs {
		if !doubtful(err) {
			h.t.Errorf("call in hand: %v, want one that says that it may have been executed", err)
		}
	}
	return h.saw(pid).Sub(at), o, at
}

// long is a client whose calls are so long that a pipe holds few of them.
type long struct{ *load.Session }

func (l long) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	text, err := l.Ask(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"text":%q,"rest":%q}}`, note, nonce, strings.Repeat("x", 4<<10)))
	return load.Nonce(text), err
}

// killDeaf kills the server while it does not read what the host has for it, and says how many calls had been written all the same.
func (h *host) killDeaf(round int, s *load.Session) (written int) {
	h.t.Helper()
	h.next(fmt.Sprintf("deaf-%d", round), s)
	halt(h.t, h.Processes()[0])
	o := &outcomes{Client: long{s}}
	ended := h.run(o, uint64(2*round+2), inHand)
	eventually(h.t, "all on their way", func() bool { return h.metric("mcpd_requests_in_flight{") >= inHand })
	h.kill()
	result := <-ended
	if c := result.Counts; c.Sent != inHand || c.OK == 0 || c.OK+c.Failed != inHand {
		h.t.Errorf("calls to a server that did not read: %+v, errors %v; want those that were not written answered", c, result.Errors)
	}
	effects := effectsOf(h.t, h.effects)
	for nonce, err := range o.errs {
		switch n := effects[string(nonce)]; {
		case err == nil && n != 1:
			h.t.Errorf("call %s that the next server answered: done %d times", nonce, n)
		case err != nil && (n != 0 || !doubtful(err)):
			h.t.Errorf("call %s that had been written: done %d times, %v", nonce, n, err)
		}
	}
	return int(result.Counts.Failed)
}

// hand gives the server calls that it holds, and returns when it has them. What became of them comes when they have ended.
func (h *host) hand(c load.Client, run uint64, calls int) <-chan load.Result {
	h.t.Helper()
	before := len(effectsOf(h.t, h.effects))
	ended := h.run(c, run, calls)
	eventually(h.t, "all in the server's hand", func() bool { return len(effectsOf(h.t, h.effects)) == before+calls })
	return ended
}

// run makes calls, all at once. What became of them comes when they have ended.
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

// killIdle kills the server, and says when the next call had its answer. A call that the host has begun before it saw the death may be
// answered with an error.
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

// saw is when the host told that a server ended: the end of the millisecond that the log has, so that the goal is held against the later.
func (h *host) saw(pid int) (at time.Time) {
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
