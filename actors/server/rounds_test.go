package server_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/internal/fault"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// A legacy server asks a modern client: the question is the result of the client's request, the
// answer comes with another request, and the server sees one call during which it asked. The
// deadline of the call is extended meanwhile.
func TestServerAsksAClientWithoutASession(t *testing.T) {
	run(t, silent, func(r *rig) {
		c, p, token := elicited(r)
		time.Sleep(4 * time.Minute)
		out := c.retry("tools/call", bound, token, `{"elicit-1":`+yes+`}`)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != yes ||
			got[0].ID != jsonrpc.IntID(1) {
			t.Fatalf("the server was answered %v", got)
		}
		time.Sleep(50 * time.Second)
		p.answer("tools/call", `{"content":[]}`)
		if m := out.Outcome(); out.Word() != "result" ||
			!strings.Contains(string(m.Result), `"resultType":"complete"`) || m.ID != jsonrpc.IntID(2) {
			t.Errorf("got %v", out.All())
		}
		if got := p.heard("tools/call"); len(got) != 1 || c.peer().Calls().Busy() {
			t.Errorf("the server was called %d times", len(got))
		}
	})
}

// A state is valid only for its principal, its request and its host, unchanged and once.
func TestStateIsBound(t *testing.T) {
	const answer = `{"elicit-1":` + yes + `}`
	for name, again := range map[string]func(c *caller, token string) *testrig.Sink{
		"tampered": func(c *caller, token string) *testrig.Sink {
			return c.retry("tools/call", bound, token+"-TAMPERED", answer)
		},
		"other arguments": func(c *caller, token string) *testrig.Sink {
			return c.retry("tools/call", `{"name":"files__read","arguments":{"a":1}}`, token, answer)
		},
		"other method": func(c *caller, token string) *testrig.Sink {
			return c.retry("prompts/get", `{"name":"files__greet"}`, token, answer)
		},
		"other principal": func(c *caller, token string) *testrig.Sink {
			other := *c
			other.principal = "else"
			return other.retry("tools/call", bound, token, answer)
		},
		"earlier host": func(c *caller, token string) *testrig.Sink {
			c.r.held.Instance = "there"
			return c.retry("tools/call", bound, token, answer)
		},
		"expired": func(c *caller, token string) *testrig.Sink {
			time.Sleep(6 * time.Minute)
			return c.retry("tools/call", bound, token, answer)
		},
		"no string": func(c *caller, _ string) *testrig.Sink {
			return c.ask("tools/call", `{"name":"files__read","requestState":5}`)
		},
		"no answers": func(c *caller, _ string) *testrig.Sink {
			return c.ask("tools/call", `{"name":"files__read","inputResponses":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, silent, func(r *rig) {
				c, p, token := elicited(r)
				out := again(c, token)
				if out.Word() != int64(-32602) {
					t.Errorf("got %v", out.All())
				}
				told := `{"reason":"state_invalid","server":"files","maybeExecuted":true,"retryable":false}`
				if all := out.All(); (len(all) > 0 && all[0].Error != nil &&
					string(all[0].Error.Data) == told) != (name == "earlier host") {
					t.Errorf("whether the call was executed: %v", all)
				}
				if got := p.heard("tools/call"); len(got) != 1 {
					t.Errorf("the server was called %d times", len(got))
				}
				if name == "expired" || name == "earlier host" {
					return
				}
				if c.retry("tools/call", bound, token, answer); len(p.answers()) != 1 {
					t.Error("the state is no good any more")
				}
				if out := c.retry("tools/call", bound, token, answer); out.Word() != int64(-32602) ||
					len(p.answers()) != 1 {
					t.Errorf("a second time: %v", out.All())
				}
			})
		})
	}
}

// A crash of the session between the rounds has no effect: the retry reaches the call.
func TestHeldCallOutlivesTheSessionsActor(t *testing.T) {
	run(t, silent, func(r *rig) {
		c, p, token := elicited(r)
		h := c.peer()
		r.Break("server_sup/"+h.Row(), "*session.Deliver")
		if hit := c.ask("server/discover", ""); hit.Word() != int64(-32603) {
			t.Errorf("the one it crashed on: %v", hit.All())
		}
		r.Struck()
		out := c.retry("tools/call", bound, token, `{"elicit-1":`+yes+`}`)
		p.answer("tools/call", `{"content":[]}`)
		if out.Word() != "result" || c.peer() != h {
			t.Errorf("got %v", out.All())
		}
	})
}

// A client that retries with other capabilities belongs to another peer, and still finds its call.
// A capability that it no longer has counts as declined. If it leaves, the call is cancelled as by
// the first client.
func TestRetryWithOtherCapabilities(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		run(t, silent, func(r *rig) {
			c, p, token := elicited(r)
			first := c.peer()
			c.capabilities = `{"roots":{}}`
			if c.peer() == first {
				t.Fatal("the same peer")
			}
			out := c.retry("tools/call", bound, token, `{}`)
			if got := p.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"decline"}` {
				t.Errorf("the server was answered %v", got)
			}
			if leaves {
				c.leave(out)
				if got := p.heard("notifications/cancelled"); len(got) != 1 || out.Word() != "cancelled" ||
					c.peer().Calls().Busy() || first.Calls().Busy() {
					t.Errorf("the server heard %v, the client got %v", got, out.All())
				}
				return
			}
			p.answer("tools/call", `{"content":[]}`)
			if out.Word() != "result" || c.peer().Calls().Busy() || first.Calls().Busy() {
				t.Errorf("got %v", out.All())
			}
		})
	}
}

// A client that leaves cancels its call: before a question, during a question, and after the
// answer. In between there is no request to leave.
func TestClientThatLeavesCancels(t *testing.T) {
	for name, leave := range map[string]func(r *rig, c *caller) *testrig.Sink{
		"before a question": func(_ *rig, c *caller) *testrig.Sink { return c.call() },
		"during one": func(r *rig, c *caller) *testrig.Sink {
			out := c.call()
			r.peer("files").Ask(jsonrpc.IntID(1), "elicitation/create", form)
			r.WaitIdle()
			return out
		},
		"after the answer": func(r *rig, c *caller) *testrig.Sink {
			out := c.call()
			r.peer("files").elicit(jsonrpc.IntID(1))
			return c.retry("tools/call", bound, state(r.T, out), `{"elicit-1":`+yes+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, silent, func(r *rig) {
				c := r.caller(elicits)
				c.ask("server/discover", "")
				p := <-r.peers["files"]
				r.peers["files"] <- p
				out := leave(r, c)
				for range 2 {
					c.leave(out)
				}
				if got := p.heard("notifications/cancelled"); len(got) != 1 || out.Word() != "cancelled" ||
					c.peer().Calls().Busy() {
					t.Errorf("the server heard %v, the client got %v", got, out.All())
				}
				for _, a := range p.answers() {
					if name == "during one" && string(a.Result) != `{"action":"cancel"}` {
						t.Errorf("the server was answered %v", a)
					}
				}
			})
		})
	}
}

// A request that waits for its server is not sent when its client leaves.
func TestClientLeavesBeforeItsServerIsThere(t *testing.T) {
	run(t, func(r *rig) { mute(r, "files") }, func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		out := c.ask("tools/call", `{"name":"read"}`)
		c.leave(out)
		if out.Word() != "cancelled" || c.peer().Calls().Busy() {
			t.Errorf("got %v", out.All())
		}
		c.leave(out)
	})
}

// A question that its server takes back is not asked, at whatever stage it is.
func TestServerTakesItsQuestionBack(t *testing.T) {
	run(t, silent, func(r *rig) {
		c := r.caller(elicits)
		out := c.call()
		p := r.peer("files")
		p.Ask(jsonrpc.IntID(1), "elicitation/create", form)
		p.Notify("notifications/cancelled", `{"requestId":1}`)
		time.Sleep(time.Second)
		p.Ask(jsonrpc.IntID(2), "elicitation/create", form)
		r.WaitIdle()
		p.Notify("notifications/cancelled", `{"requestId":2}`)
		time.Sleep(time.Second)
		if out.Word() != "none" || len(p.answers()) != 0 {
			t.Errorf("got %v, the server was answered %v", out.All(), p.answers())
		}
		p.Notify("notifications/cancelled", `{"requestId":7}`)
		p.answer("tools/call", `{"content":[]}`)
		if out.Word() != "result" {
			t.Errorf("got %v", out.All())
		}
	})
}

// If a session crashes while the actor of a call is being started, both the server and the client
// still get an answer.
func TestCrashWhileACallIsBeingHeld(t *testing.T) {
	run(t, silent, func(r *rig) {
		c := r.caller(elicits)
		out := c.call()
		p := r.peer("files")
		f := fault.Fault{
			Action: fault.Panic,
			Point:  fault.Point{Path: "top/server_sup/*", Kind: "server.heldCallStarted"},
			Count:  1, Lease: time.Minute,
		}
		if _, err := r.Faults.Arm(f); err != nil {
			t.Fatal(err)
		}
		p.elicit(jsonrpc.IntID(1))
		r.Struck()
		if got := p.answers(); len(got) != 1 || got[0].Error == nil {
			t.Errorf("the server was answered %v", got)
		}
		p.answer("tools/call", `{"content":[]}`)
		if out.Word() != "result" {
			t.Errorf("got %v", out.All())
		}
	})
}

// If there is no room for the actor of a call, the question is refused to the server, and the call
// goes on.
func TestQuestionsThatNobodyCanHold(t *testing.T) {
	run(t, silent, func(r *rig) {
		c := r.caller(elicits)
		out := c.call()
		p := r.peer("files")
		top, _ := r.System.Whereis("top")
		if err := otp.TerminateChild(r.T.Context(), top, "held_sup"); err != nil {
			t.Fatal(err)
		}
		p.elicit(jsonrpc.IntID(1))
		if got := p.answers(); len(got) != 1 || got[0].Error == nil {
			t.Errorf("the server was answered %v", got)
		}
		p.answer("tools/call", `{"content":[]}`)
		if out.Word() != "result" {
			t.Errorf("got %v", out.All())
		}
	})
}

// Questions that cannot be asked: outside of any call, to a client without the capability, during a
// request that cannot be retried, and after the end.
func TestQuestionsToNobody(t *testing.T) {
	run(t, func(r *rig) { silent(r); r.script["files"]["prompts/get"] = nil }, func(r *rig) {
		c := r.caller(`{}`)
		out := c.call()
		p := r.peer("files")
		p.Ask(jsonrpc.IntID(1), "elicitation/create", form)
		c.capabilities = elicits
		r.WaitIdle()
		if got := p.answers(); len(got) != 1 || got[0].Error == nil {
			t.Errorf("of who can nothing: %v", got)
		}
		if out.Word() != "none" {
			t.Errorf("got %v", out.All())
		}
	})
	run(t, nil, func(r *rig) {
		r.caller(elicits).call()
		p := r.peer("files")
		p.elicit(jsonrpc.IntID(1))
		if got := p.answers(); len(got) != 1 || got[0].Error == nil || got[0].Error.Code != -32602 {
			t.Errorf("outside of a call: %v", got)
		}
	})
}
