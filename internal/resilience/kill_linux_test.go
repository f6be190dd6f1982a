package resilience

import (
	"context"
	"errors"
	"fmt"
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
	mu   sync.Mutex // guards the fields below
	last time.Time
	errs []error
}

func (o *outcomes) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	got, err := o.Client.Call(ctx, nonce)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.errs = append(o.errs, err)
	return got, err
}

// A server is killed. Half of the times it has calls in hand: each has one outcome, which says that it may have been executed, and none is
// executed again. The other times nobody uses it: the next call has a new one.
func serverKilled(t *testing.T, r *table) {
	h := start(t, alone)
	before := h.baseline()
	var seen, answered, bare, next, share []time.Duration
	for round := range either(100, 3) {
		s := h.sessions(1, hold)
		s = append(s, h.sessions(1, note)...)
		took, late := h.killBusy(round, s[0])
		seen, answered = append(seen, took), append(answered, late)

		b, err := bareStart(h.effects)
		if err != nil {
			t.Fatal(err)
		}
		n := h.killIdle(round, s[1])
		bare, next, share = append(bare, b), append(next, n), append(share, n-b)
		leave(t, s)
	}
	once(t, h.effects)
	r.times("server killed: seen by the host after", seen, seenGoal)
	r.times(fmt.Sprintf("server killed: last of %d calls in its hand answered after", inHand), answered, answerGoal)
	r.times("start of the server without a host, to its first answer", bare, 0)
	r.times("server killed: next call answered after", next, 0)
	r.times("the host's share of that", share, shareGoal)
	r.times("servers killed: back at the baseline after", []time.Duration{h.settles(before)}, baselineGoal)
}

// killBusy kills the server with calls in its hand, and says when the host saw it and when the last of them had its outcome.
func (h *host) killBusy(round int, s *load.Session) (seen, answered time.Duration) {
	h.t.Helper()
	o := &outcomes{Client: s}
	ended := h.hand(o, uint64(round+1), inHand)
	pid, at := h.kill()
	result := <-ended
	if want := (load.Counts{Sent: inHand, Failed: inHand}); result.Counts != want {
		h.t.Errorf("calls in hand: %+v, errors %v; want one error each", result.Counts, result.Errors)
	}
	for _, err := range o.errs {
		var e *load.CallError
		var data struct {
			MaybeExecuted bool `json:"maybeExecuted"`
		}
		if !errors.As(err, &e) || json.Unmarshal(e.Data, &data) != nil || !data.MaybeExecuted {
			h.t.Errorf("call in hand: %v, want one that says that it may have been executed", err)
		}
	}
	return h.saw(pid).Sub(at), o.last.Sub(at)
}

// hand gives the server calls that it holds, and returns when it has them. What became of them comes when they have ended.
func (h *host) hand(c load.Client, run uint64, calls int) <-chan load.Result {
	h.t.Helper()
	before := len(effectsOf(h.t, h.effects))
	ended := make(chan load.Result, 1)
	go func() { // ends with its calls, for which the caller waits
		result, err := load.Run(h.t.Context(), []load.Client{c}, options(run, calls, calls))
		if err != nil {
			panic(err) // a mistake in the options
		}
		ended <- result
	}()
	eventually(h.t, "all in the server's hand", func() bool { return len(effectsOf(h.t, h.effects)) == before+calls })
	return ended
}

// killIdle kills the server, and says when the next call had its answer. A call that the host has begun before it saw the death may be
// answered with an error.
func (h *host) killIdle(round int, s *load.Session) time.Duration {
	h.t.Helper()
	try := func(n int) error {
		ctx, cancel := context.WithTimeout(h.t.Context(), patience)
		defer cancel()
		_, err := s.Call(ctx, load.Nonce(fmt.Sprintf("next-%d-%d", round, n)))
		return err
	}
	if err := try(0); err != nil {
		h.t.Fatal(err)
	}
	_, at := h.kill()
	for n := 1; ; n++ {
		err := try(n)
		if err == nil {
			return time.Since(at)
		}
		if time.Since(at) > patience {
			h.t.Fatalf("no call is answered any more: %v", err)
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
