package client_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

const noRoots = `{"roots":[]}`

// curious returns a server that asks for roots right after its handshake, before it lists anything.
func (r *rig) curious() *mcptest.Peer {
	r.T.Helper()
	p := r.server()
	p.Handshake(`{"tools":{}}`)
	p.Ask(jsonrpc.ID{}, question, "roots/list", "")
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
	r.WaitIdle()
	return p
}

// takes makes the server take a call, and checks how long that took.
func (r *rig) takes(p *mcptest.Peer, began time.Time, want time.Duration) {
	r.T.Helper()
	p.Reply(p.Expect("tools/call"), `{"content":[]}`)
	if got := time.Since(began); got != want {
		r.T.Errorf("the call came after %v, want %v", got, want)
	}
	r.WaitIdle()
}

// When a server takes its first call, it has the answer to what it asked before, even if the server
// was started for that call. The same is true for each next server, also one that is started
// without a call.
func TestCallWaitsForWhatItsServerAskedBefore(t *testing.T) {
	for name, waiting := range map[string]bool{"that has it started": true,
		"that comes later": false} {
		t.Run(name, func(t *testing.T) {
			run(t, declares(changes), func(r *rig) {
				r.attach("one")
				for n := range 3 {
					if waiting {
						r.call("one")
					}
					p, began := r.curious(), time.Now()
					if !waiting {
						r.call("one")
					}
					p.ExpectNothing(time.Second)
					if got := asked(&r.one); len(got) != n+1 {
						t.Fatalf("server %d: asked %+v", n, got)
					}
					r.send(&client.Answer{Question: question, Result: jsontext.Value(noRoots)})
					p.ExpectAnswer(question)
					r.takes(p, began, time.Second+client.FirstAnswersRest)
					began = time.Now()
					r.call("one")
					r.takes(p, began, 0)
					p.Close(nil)
				}
				if got := r.outcomes(); len(got) != 6 {
					t.Errorf("%d outcomes", len(got))
				}
			})
		})
	}
}

// Calls wait no longer than the question is open, and FirstAnswersWait at most. No call waits where
// nothing was asked.
func TestCallWaitsNoLongerThanItsServerDoes(t *testing.T) {
	refused := &client.Answer{Question: question, Err: &jsonrpc.Error{Code: -32601, Message: "no"}}
	for name, c := range map[string]struct {
		end  func(r *rig, p *mcptest.Peer)
		want time.Duration
	}{
		"refused": {func(r *rig, p *mcptest.Peer) {
			r.send(refused)
			p.ExpectAnswer(question)
		}, time.Second},
		"taken back": {func(r *rig, p *mcptest.Peer) {
			p.Notify(jsonrpc.ID{}, "notifications/cancelled", `{"requestId":`+question.Raw()+`}`)
		}, time.Second},
		"not answered": {func(*rig, *mcptest.Peer) {}, client.FirstAnswersWait},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, declares(changes), func(r *rig) {
				r.attach("one")
				x, y := r.call("one"), r.call("one")
				p, began := r.curious(), time.Now()
				p.ExpectNothing(time.Second)
				c.end(r, p)
				r.takes(p, began, c.want)
				r.takes(p, began, c.want)
				r.outcome(x)
				r.outcome(y)
			})
		})
	}
	run(t, declares(changes), func(r *rig) {
		r.attach("one")
		r.call("one")
		p, began := r.ready(`{"tools":{}}`), time.Now()
		r.takes(p, began, 0)
	})
}

// The wait ends with its server, and with the call that is cancelled. Neither another call nor the
// answer is lost by that.
func TestWaitForTheFirstAnswersEnds(t *testing.T) {
	run(t, declares(changes), func(r *rig) {
		r.attach("one")
		gone, x := r.call("one"), r.call("one")
		p := r.curious()
		r.send(&request.Withdraw{ID: gone.ID, Reason: "cancelled"})
		p.ExpectNothing(time.Second)
		p.Close(nil)
		p = r.ready(`{"tools":{}}`)
		r.takes(p, time.Now(), 0)
		r.outcome(x)
		p.ExpectNothing(time.Minute)
	})
	run(t, declares(`{"roots":{}}`), func(r *rig) {
		r.attach("one")
		gone := r.call("one")
		p, began := r.curious(), time.Now()
		r.send(&request.Withdraw{ID: gone.ID, Reason: "cancelled"})
		p.ExpectNothing(time.Second)
		x := r.call("one")
		p.ExpectNothing(time.Second / 2)
		r.send(&client.Answer{Question: question, Result: jsontext.Value(noRoots)})
		p.ExpectAnswer(question)
		r.takes(p, began, time.Second*3/2+client.FirstAnswersRest)
		r.outcome(x)
	})
}

// A server that was started before anybody used it has two answers before the first call. One is to
// its question from a moment before the first session came, the other to its question after it was
// told that a session is there.
func TestCallWaitsForWhatWasAskedBeforeItsSession(t *testing.T) {
	answer := func(r *rig, p *mcptest.Peer) {
		r.send(&client.Answer{Question: question, Result: jsontext.Value(noRoots)})
		p.ExpectAnswer(question)
	}
	run(t, declares(changes), func(r *rig) {
		p := r.curious()
		time.Sleep(client.QuestionHold / 2)
		r.attach("one")
		began := time.Now()
		r.call("one")
		p.ExpectNothing(time.Second)
		answer(r, p)
		r.takes(p, began, time.Second+client.FirstAnswersRest)
	})
	for _, asks := range []bool{true, false} {
		run(t, declares(changes), func(r *rig) {
			p := r.curious()
			time.Sleep(2 * client.QuestionHold)
			p.ExpectAnswer(question)
			r.attach("one")
			began := time.Now()
			r.call("one")
			p.Expect("notifications/roots/list_changed")
			ping := p.Expect("ping")
			if asks {
				p.Ask(jsonrpc.ID{}, question, "roots/list", "")
			}
			p.Reply(ping, `{}`)
			if !asks {
				r.takes(p, began, 0)
				return
			}
			p.ExpectNothing(time.Second)
			answer(r, p)
			r.takes(p, began, time.Second+client.FirstAnswersRest)
		})
	}
}

// Another instance of a server lists nothing, and has the answer before its first call too.
// An instance that was started anew without a call has it before its next call.
func TestCallOfAnInstanceWaitsForWhatWasAskedBefore(t *testing.T) {
	both := func(o *client.Options) {
		declares(`{"elicitation":{},"roots":{"listChanged":true}}`)(o)
		o.Instances, o.Linger = 2, time.Minute
	}
	run(t, both, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		r.attach("two")
		r.call("one")
		p.Expect("tools/call")
		r.call("two")
		time.Sleep(client.Patience)
		r.WaitIdle()
		ref, err := otp.StartChild(r.T.Context(), r.Tree.Ref(), r.other())
		if err != nil {
			t.Fatal(err)
		}
		r.wanted()[0].Reply(client.Instance{
			Ref: ref, Key: tenant.Key{Share: tenant.ByTenant, Instance: 1},
		})
		answer := func(q *mcptest.Peer) {
			q.ExpectNothing(time.Second)
			if err := ref.Send(&client.Answer{Question: question,
				Result: jsontext.Value(noRoots)}); err != nil {
				t.Fatal(err)
			}
			q.ExpectAnswer(question)
			began := time.Now()
			r.takes(q, began, client.FirstAnswersRest)
		}
		q := r.program(r.others)
		ping := q.Expect("ping")
		q.Ask(jsonrpc.ID{}, question, "roots/list", "")
		q.Reply(ping, `{}`)
		answer(q)
		if got := asked(&r.two); len(got) != 1 {
			t.Fatalf("asked %+v", got)
		}
		q.Close(nil)
		q = r.program(r.others)
		ping = q.Expect("ping")
		q.Ask(jsonrpc.ID{}, question, "roots/list", "")
		if a := q.ExpectAnswer(question); a.Error == nil {
			t.Fatalf("answered %s", a.Result)
		}
		q.Reply(ping, `{}`)
		r.WaitIdle()
		r.call("two")
		q.Expect("notifications/roots/list_changed")
		ping = q.Expect("ping")
		q.Ask(jsonrpc.ID{}, question, "roots/list", "")
		q.Reply(ping, `{}`)
		answer(q)
	})
}

// A client of 2026-07-28 is asked in the answer to its call, which goes on with the client's next
// request.
func TestFirstQuestionToAClientWhoseCallsStandAlone(t *testing.T) {
	run(t, declares(changes), func(r *rig) {
		r.attach("one")
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Version = protocol.V20260728
		r.send(&request.Forward{Exchange: x})
		p, began := r.curious(), time.Now()
		if got := asked(&r.one); len(got) != 1 || got[0].Exchange != x {
			t.Fatalf("asked %+v", got)
		}
		p.ExpectNothing(time.Second)
		r.send(&client.Answer{Question: question, Result: jsontext.Value(noRoots)})
		p.ExpectAnswer(question)
		r.takes(p, began, time.Second+client.FirstAnswersRest)
	})
}

// When several sessions of one principal wait for a server, the first is asked for its roots.
// Sessions of several principals are not asked.
func TestFirstOfSeveralSessionsIsAskedForRoots(t *testing.T) {
	for second, want := range map[string]int{"alice": 1, "bob": 0} {
		run(t, declares(changes), func(r *rig) {
			r.uses("one", "alice")
			r.uses("two", second)
			for session, principal := range map[string]string{"one": "alice", "two": second} {
				x := r.exchange(session, "tools/call", `{"name":"a"}`)
				x.Principal = principal
				r.send(&request.Forward{Exchange: x})
			}
			p, began := r.curious(), time.Now()
			if got := len(asked(&r.one)) + len(asked(&r.two)); got != want {
				t.Fatalf("%s: asked %d", second, got)
			}
			if want == 0 {
				p.ExpectAnswer(question)
				r.takes(p, began, 0)
				return
			}
			p.ExpectNothing(time.Second)
			r.send(&client.Answer{Question: question, Result: jsontext.Value(noRoots)})
			p.ExpectAnswer(question)
			r.takes(p, began, time.Second+client.FirstAnswersRest)
			r.takes(p, began, time.Second+client.FirstAnswersRest)
		})
	}
}

// A server was started anew while several sessions used it, none of which called. It is told that
// there are roots when one of them calls.
func TestCallerIsAskedForRootsThatWereRefused(t *testing.T) {
	run(t, declares(changes), func(r *rig) {
		r.attach("one")
		r.attach("two")
		p := r.curious()
		if a := p.ExpectAnswer(question); a.Error == nil {
			t.Fatalf("answered %s", a.Result)
		}
		r.call("two")
		p.Expect("notifications/roots/list_changed")
		ping := p.Expect("ping")
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		p.Reply(ping, `{}`)
		p.ExpectNothing(time.Second)
		if len(asked(&r.one)) != 0 || len(asked(&r.two)) != 1 {
			t.Fatalf("asked %v and %v", asked(&r.one), asked(&r.two))
		}
		r.send(&client.Answer{Question: question, Result: jsontext.Value(noRoots)})
		p.ExpectAnswer(question)
		r.takes(p, time.Now(), client.FirstAnswersRest)
		r.call("one")
		r.takes(p, time.Now(), 0)
	})
}
