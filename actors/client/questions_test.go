package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/drops"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
)

const elicits = `{"elicitation":{}}`

var question = jsonrpc.StringID("q")

// asked returns the questions that a session was sent.
func asked(b *testrig.Box) []*client.Question { return testrig.Of[*client.Question](&b.Log) }

// S1-6, S1-13, F38: a server asks the client whose call it works on: on the call's stream, or
// during the only call that can be meant. The answer goes back under the server's own id, once.
func TestQuestionReachesTheClientOfItsCall(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.attach("one")
		r.attach("two")
		x := r.call("one")
		m := p.Expect("tools/call")
		for _, related := range []jsonrpc.ID{m.ID, {}} {
			p.Ask(related, question, "elicitation/create", `{"message":"name?"}`)
			got := asked(&r.one)
			if len(got) != 1 || got[0].Exchange != x || got[0].Method != "elicitation/create" ||
				got[0].ID != question {
				t.Fatalf("related to %q: asked %+v", related.Raw(), got)
			}
			r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"decline"}`)})
			r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"accept"}`)})
			if a := p.ExpectAnswer(question); string(a.Result) != `{"action":"decline"}` {
				t.Errorf("answered %s", a.Result)
			}
			r.one.Forget()
		}
		if got := asked(&r.two); len(got) != 0 {
			t.Errorf("the other session was asked %v", got)
		}
		p.ExpectNothing(time.Second)
	})
}

// A client's refusal reaches the server as a refusal.
func TestRefusalReachesTheServer(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.call("one")
		p.Expect("tools/call")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		r.WaitIdle()
		r.send(&client.Answer{Question: question, Err: &jsonrpc.Error{Code: -1, Message: "no"}})
		if a := p.ExpectAnswer(question); a.Error == nil || a.Error.Code != -1 {
			t.Errorf("answered %v", a.Error)
		}
	})
}

// A server that does not read loses answers to its questions. The loss is reported with the method.
func TestAnswersThatAServerDoesNotReadAreTold(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		for method, first := range map[string]uint64{"ping": 0, "sampling/createMessage": 10_000} {
			for n := range 5000 {
				p.Ask(jsonrpc.ID{}, jsonrpc.IntID(first+uint64(n)), method, `{}`)
			}
			r.WaitIdle()
			time.Sleep(drops.Every)
			r.WaitIdle()
			dropped := testrig.Of[telemetry.ReplyDropped](&r.Events)
			if len(dropped) == 0 {
				t.Fatalf("%s: none was dropped", method)
			}
			if last := dropped[len(dropped)-1]; last.Reason != "queue_full" || last.Method != method {
				t.Errorf("%s: told of %+v", method, last)
			}
		}
	})
}

// S1-20, S2-12, F38: questions that the server may not ask, or nobody can answer, are refused here
// and reach no client.
func TestQuestionsThatAreRefused(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		refused := func(label string) {
			t.Helper()
			if a := p.ExpectAnswer(question); a.Error == nil {
				t.Errorf("%s: answered %s", label, a.Result)
			}
		}
		p.Ask(jsonrpc.ID{}, question, "sampling/createMessage", `{}`)
		refused("a capability that was not declared")
		p.Ask(jsonrpc.ID{}, question, "tools/list", `{}`)
		refused("what only clients ask")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		refused("nobody there")
		p.Ask(jsonrpc.ID{}, question, "ping", "")
		if a := p.ExpectAnswer(question); a.Error != nil {
			t.Errorf("ping: %v", a.Error)
		}

		r.call("one")
		p.Expect("tools/call")
		for n := range client.MaxQuestions {
			p.Ask(jsonrpc.ID{}, jsonrpc.StringID(fmt.Sprint(n)), "elicitation/create", `{}`)
		}
		r.WaitIdle()
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		refused("too many at once")
		r.send(&client.Answer{Question: jsonrpc.StringID("1"), Result: jsontext.Value(`{}`)})
		p.ExpectAnswer(jsonrpc.StringID("1"))
		p.Ask(jsonrpc.ID{}, jsonrpc.StringID("2"), "elicitation/create", `{}`)
		if a := p.ExpectAnswer(jsonrpc.StringID("2")); a.Error == nil {
			t.Error("an id that is open already was taken")
		}
	})
}

// At a program, calls of different sessions during which it could ask take turns, so that it is
// always certain whom it means. Other requests do not wait.
func TestAskingServerHasOneClientAtATime(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		first := p.Expect("tools/call")
		second := r.call("two")
		r.forward("two", "tools/list", `{}`)
		p.Expect("tools/list")
		p.ExpectNothing(time.Second)
		p.Reply(first, `{}`)
		p.Expect("tools/call")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		r.WaitIdle()
		if got := asked(&r.two); len(got) != 1 || got[0].Exchange != second {
			t.Errorf("asked %v", got)
		}
	})
}

// With calls of several clients in flight a question that names none is refused: it might reach the
// wrong client.
func TestQuestionWithoutAnAddressReachesNobody(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.call("one")
		r.call("two")
		p.Expect("tools/call")
		p.Expect("tools/call")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		if a := p.ExpectAnswer(question); a.Error == nil {
			t.Errorf("answered %s", a.Result)
		}
		if len(asked(&r.one))+len(asked(&r.two)) != 0 {
			t.Error("somebody was asked")
		}
	})
}

// gone is the sink of a call whose client has left its stream.
type gone struct{ transport.Sink }

func (gone) Left() bool { return true }

// A question during several calls of one client is put where the client reads. It is not put on the
// stream of a call that the client has given up without saying so, as clients do by ending an HTTP
// request.
func TestQuestionIsPutWhereTheClientReads(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		var calls []*request.Exchange
		for range 3 {
			calls = append(calls, r.call("one"))
			p.Expect("tools/call")
		}
		for _, c := range []struct {
			left []int
			want int
		}{{nil, 2}, {[]int{0}, 2}, {[]int{2}, 1}, {[]int{1, 2}, 0}, {[]int{0, 1, 2}, 2}} {
			sinks := map[int]transport.Sink{}
			for _, i := range c.left {
				sinks[i], calls[i].Sink = calls[i].Sink, gone{calls[i].Sink}
			}
			p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
			r.WaitIdle()
			if got := asked(&r.one); len(got) != 1 || got[0].OtherCall != calls[c.want] {
				t.Errorf("%v have left: asked %+v, want on the stream of call %d", c.left, got, c.want)
			}
			r.send(&client.Answer{Question: question, Result: jsontext.Value(`{}`)})
			p.ExpectAnswer(question)
			r.one.Forget()
			for i, sink := range sinks {
				calls[i].Sink = sink
			}
		}
	})
}

// A question ends when its server takes it back, when its call ends, and when the server is gone.
// Its client is told in each case.
func TestQuestionIsWithdrawn(t *testing.T) {
	for name, end := range map[string]func(r *rig, p *mcptest.Peer, x *request.Exchange){
		"by the server": func(_ *rig, p *mcptest.Peer, _ *request.Exchange) {
			p.Notify(jsonrpc.ID{}, "notifications/cancelled", `{"requestId":"q"}`)
		},
		"with its call": func(r *rig, _ *mcptest.Peer, x *request.Exchange) {
			r.send(&request.Withdraw{ID: x.ID, Reason: "timeout"})
		},
		"server gone": func(_ *rig, p *mcptest.Peer, _ *request.Exchange) { p.Close(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, declares(elicits), func(r *rig) {
				p := r.ready(`{"tools":{}}`)
				x := r.call("one")
				m := p.Expect("tools/call")
				p.Ask(m.ID, question, "elicitation/create", `{}`)
				r.WaitIdle()
				end(r, p, x)
				if got := testrig.Of[*client.Withdrawn](&r.one.Log); len(got) != 1 ||
					got[0].Question != question || got[0].From != r.Ref("conn") {
					t.Errorf("withdrawn: %v", got)
				}
			})
		})
	}
}

// F49: a server that waits for the answer to a question gets a refusal when the call of the
// question is withdrawn. It gets that after the withdrawal, so that it does not go on with the call
// for want of an answer.
func TestQuestionOfAWithdrawnCallIsAnswered(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.call("one")
		m := p.Expect("tools/call")
		p.Ask(m.ID, question, "elicitation/create", `{}`)
		r.WaitIdle()
		r.send(&request.Withdraw{ID: x.ID, Reason: "client"})
		p.Expect("notifications/cancelled")
		if a := p.ExpectAnswer(question); a.Error == nil ||
			a.Error.Message != "the call during which this was asked has been withdrawn" {
			t.Errorf("answered %s", a.Append(nil))
		}
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"decline"}`)})
		p.ExpectNothing(time.Second)
	})
}

// A server that asks without waiting and answers the call gets the answer of a client with a
// session later. A client whose requests are stateless can no longer answer, so the server gets a
// refusal.
func TestAnswerEndsItsQuestions(t *testing.T) {
	for name, tt := range map[string]struct {
		version protocol.Version
		onCall  bool
		ends    bool
	}{
		"on the stream":                        {protocol.V20251125, true, false},
		"on none":                              {protocol.V20251125, false, false},
		"on none, of a client without session": {protocol.V20260728, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, declares(elicits), func(r *rig) {
				p := r.ready(`{"tools":{}}`)
				r.attach("one")
				x := r.exchange("one", "tools/call", `{"name":"a"}`)
				x.Version = tt.version
				r.send(&request.Forward{Exchange: x})
				m := p.Expect("tools/call")
				related := jsonrpc.ID{}
				if tt.onCall {
					related = m.ID
				}
				p.Ask(related, question, "elicitation/create",
					`{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`)
				r.WaitIdle()
				p.Reply(m, `{"content":[]}`)
				r.WaitIdle()
				withdrawn := testrig.Of[*client.Withdrawn](&r.one.Log)
				if tt.ends != (len(withdrawn) == 1) || r.outcome(x).Err != nil {
					t.Errorf("withdrawn %v, outcome %v", withdrawn, r.outcome(x).Err)
				}
				r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"decline"}`)})
				if got := p.ExpectAnswer(question); tt.ends != (got.Error != nil) {
					t.Errorf("answered %s", got.Append(nil))
				}
				p.ExpectNothing(time.Second)
			})
		})
	}
}

// Notifications of a client about its roots, or about its progress on a question, are passed on to
// a server that is there.
func TestClientsNotificationsArePassedOn(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.send(&client.ClientNotification{Method: "notifications/roots/list_changed"})
		p := r.ready(`{"tools":{}}`)
		p.ExpectNothing(time.Second)
		r.send(&client.ClientNotification{
			Method: "notifications/progress", Params: jsontext.Value(`{"progressToken":1,"progress":2}`),
		})
		if m := p.Expect("notifications/progress"); string(m.Params) !=
			`{"progressToken":1,"progress":2}` {
			t.Errorf("got %s", m.Params)
		}
	})
}

// A question that names a task belongs to the client that waits for the task, whichever calls are
// in flight.
func TestQuestionOfATaskReachesWhoWaitsForIt(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}`)
		r.attach("one")
		r.attach("two")
		r.call("two")
		p.Expect("tools/call")
		x := r.forward("one", "tasks/result", `{"taskId":"t"}`)
		p.Expect("tasks/result")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create",
			`{"message":"name?","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`)
		if got := asked(&r.one); len(got) != 1 || got[0].Exchange != x {
			t.Errorf("who waits was asked %+v", got)
		}
		if got := asked(&r.two); len(got) != 0 {
			t.Errorf("who calls was asked %v", got)
		}
	})
}
