package client_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/client"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// halting is a transport that records each look at it. At the second look it ends if its server is
// stopped.
type halting struct {
	transport.Upstream
	end   func()
	looks []time.Time
}

func (h *halting) CheckStopped() {
	h.looks = append(h.looks, time.Now())
	if len(h.looks) == 2 && h.end != nil {
		h.end()
	}
}

func (r *rig) halting(stopped bool) (*mcptest.Peer, *halting) {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	h := &halting{Upstream: up}
	if stopped {
		h.end = func() { p.Close(&transport.ExitError{Cause: stdio.CauseStopped, Code: -1}) }
	}
	r.dials <- dial{up: h}
	p.Handshake(`{"tools":{}}`)
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
	r.WaitIdle()
	return p, h
}

// F18: a call that was sent to a stopped server is lost at once and not at its deadline, and the
// next goes to another server.
func TestCallToAStoppedServerIsLost(t *testing.T) {
	run(t, nil, func(r *rig) {
		p, _ := r.halting(true)
		began := time.Now()
		x := r.call("one")
		p.Expect("tools/call")
		time.Sleep(stdio.QuietTime + stdio.StopCheckInterval)
		synctest.Wait()
		got := r.outcome(x)
		data := string(protocol.Translate(got.Err, protocol.V20251125).Data)
		if !errors.Is(got.Err, protocol.ConditionUpstreamLost) ||
			!strings.Contains(data, `"maybeExecuted":true`) || !strings.Contains(data, stdio.CauseStopped) {
			t.Errorf("got %v", got.Err)
		}
		if took := time.Since(began); took > stdio.QuietTime+2*stdio.StopCheckInterval {
			t.Errorf("told after %s", took)
		}
		p = r.ready(`{"tools":{}}`)
		next := r.call("one")
		p.Reply(p.Expect("tools/call"), `{}`)
		if got := r.outcome(next); got.Err != nil {
			t.Errorf("the next: %v", got.Err)
		}
		if got := r.report().State; got != client.Ready {
			t.Errorf("state %s", got)
		}
	})
}

// While something waits for a server, the server is looked at from QuietTime on, once per
// LookEvery, however many calls wait. Otherwise it is not looked at.
func TestServerIsLookedAtWhileSomethingWaits(t *testing.T) {
	run(t, nil, func(r *rig) {
		p, h := r.halting(false)
		time.Sleep(time.Minute)
		r.WaitIdle()
		if len(h.looks) > 0 {
			t.Errorf("idle: looked at %d times", len(h.looks))
		}
		began := time.Now()
		r.call("one")
		r.call("one")
		first, second := p.Expect("tools/call"), p.Expect("tools/call")
		time.Sleep(stdio.QuietTime + 2*stdio.StopCheckInterval + stdio.StopCheckInterval/2)
		p.Reply(first, `{}`)
		p.Reply(second, `{}`)
		time.Sleep(time.Minute)
		r.WaitIdle()
		if len(h.looks) != 3 {
			t.Fatalf("looked at %d times, want 3", len(h.looks))
		}
		for i, at := range h.looks {
			if want := began.Add(stdio.QuietTime +
				time.Duration(i)*stdio.StopCheckInterval); !at.Equal(want) {
				t.Errorf("look %d after %s", i, at.Sub(began))
			}
		}
	})
}
