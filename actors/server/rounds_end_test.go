package server_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rounds"
)

// If a retry crashes the actor of its call, only the retry fails. The state stays valid, and the
// server is not affected.
func TestHeldCallOutlivesItsActor(t *testing.T) {
	run(t, silent, func(r *rig) {
		c, p, token := elicited(r)
		r.Break("held_sup/*", "*held.Retry")
		out := c.retry("tools/call", bound, token, `{"elicit-1":`+yes+`}`)
		if r.Struck(); out.Word() != int64(-32603) || len(p.answers()) != 0 ||
			len(p.heard("notifications/cancelled")) != 0 {
			t.Errorf("got %v, the server was answered %v and told %v", out.All(), p.answers(),
				p.heard("notifications/cancelled"))
		}
		out = c.retry("tools/call", bound, token, `{"elicit-1":`+yes+`}`)
		p.answer("tools/call", `{"content":[]}`)
		if out.Word() != "result" || len(p.answers()) != 1 || c.peer().Calls().Busy() {
			t.Errorf("then %v, the server was answered %v", out.All(), p.answers())
		}
	})
}

// If a server ends while its client thinks, the client is told so by its retry.
func TestServerEndsBetweenRounds(t *testing.T) {
	run(t, silent, func(r *rig) {
		c, p, token := elicited(r)
		p.Close()
		r.WaitIdle()
		if out := c.retry("tools/call", bound, token,
			`{"elicit-1":`+yes+`}`); out.Word() != int64(-32603) {
			t.Errorf("got %v", out.All())
		}
	})
}

// A peer is not forgotten while one of its calls waits for its user, and the user has the full
// time.
func TestPeerLastsAsLongAsItsCalls(t *testing.T) {
	run(t, silent, func(r *rig) {
		c := r.caller(elicits)
		c.call()
		p := r.peer("files")
		time.Sleep(50 * time.Second)
		p.elicit(jsonrpc.IntID(1))
		time.Sleep(4*time.Minute + 40*time.Second)
		if n, err := testrig.Ask[request.PendingQuery, []request.Info](r.Rig, "requests",
			request.PendingQuery{}); err != nil || len(n) != 1 {
			t.Errorf("in flight %v, %v", n, err)
		}
	})
}

// 2025-11-25 -32042, protocol-matrix 10.11: a call that ended with the demand for a visit is
// repeated when its user agreed, each time after a longer pause, and a limited number of times. It
// is not repeated if the user declined.
func TestCallThatNeedsAVisitIsMadeAnew(t *testing.T) {
	const agreed = `{"0":` + yes + `}`
	times := 0
	run(t, func(r *rig) {
		r.script["files"]["tools/call"] = func(jsontext.Value) string {
			if times--; times >= 0 {
				return visit
			}
			return `{"content":[]}`
		}
	}, func(r *rig) {
		c := r.caller(`{"elicitation":{"url":{}}}`)
		times = 2
		token := state(t, c.call())
		p := r.peer("files")
		for name, again := range map[string]func() *testrig.Sink{
			"tampered": func() *testrig.Sink { return c.retry("tools/call", bound, token+"x", agreed) },
			"other arguments": func() *testrig.Sink {
				return c.retry("tools/call", `{"name":"files__read","arguments":{"a":1}}`, token, agreed)
			},
			"no answer": func() *testrig.Sink { return c.retry("tools/call", bound, token, `{"0":7}`) },
		} {
			if out := again(); out.Word() != int64(-32602) {
				t.Errorf("%s: %v", name, out.All())
			}
		}
		other := *c
		other.capabilities = `{"elicitation":{}}`
		for name, out := range map[string]*testrig.Sink{
			"declined":  c.retry("tools/call", bound, token, `{"0":{"action":"decline"}}`),
			"cancelled": c.retry("tools/call", bound, token, `{"0":{"action":"cancel"}}`),
			"withdrawn": other.retry("tools/call", bound, token, agreed),
		} {
			if time.Sleep(time.Minute); out.Word() != int64(-32603) {
				t.Errorf("%s: %v", name, out.All())
			}
		}
		if got := p.heard("tools/call"); len(got) != 1 {
			t.Fatalf("the server was called %d times", len(got))
		}
		out := c.retry("tools/call", bound, token, agreed)
		time.Sleep(rounds.Backoff)
		if token = state(t, out); token == "" {
			t.Fatal("no state")
		}
		out = c.retry("tools/call", bound, token, agreed)
		if out.Word() != "none" {
			t.Errorf("at once: %v", out.All())
		}
		left := c.retry("tools/call", bound, token, agreed)
		c.leave(left)
		time.Sleep(2 * rounds.Backoff)
		if out.Word() != "result" || left.Word() != "cancelled" || len(p.heard("tools/call")) != 3 {
			t.Errorf("got %v and %v, after %v", out.All(), left.All(), p.heard("tools/call"))
		}
		times = 1000
		out = c.call()
		calls := 0
		for ; out.Word() == "result"; calls++ {
			out = c.retry("tools/call", bound, state(t, out), agreed)
			time.Sleep(rounds.MaxBackoff)
		}
		if calls != rounds.MaxRounds || out.Word() != int64(-32603) {
			t.Errorf("after %d calls: %v", calls, out.All())
		}
	})
}
