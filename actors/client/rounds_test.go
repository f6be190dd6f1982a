package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rounds"
)

const asksName = `{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"name?",` +
	`"requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s-1"}`

// asking returns a modern server that has a call of a legacy client and asks for more.
func asking(r *rig) (p *mcptest.Peer, x *request.Exchange, q *client.Question) {
	r.T.Helper()
	p = r.modernly(`{"tools":{}}`)
	x = r.exchange("one", "tools/call", `{"name":"a","arguments":{"n":12345678901234567890}}`)
	x.Token = jsontext.Value(`"t"`)
	r.send(&request.Forward{Exchange: x})
	p.Reply(p.Expect("tools/call"), asksName)
	r.WaitIdle()
	got := asked(&r.one)
	if len(got) != 1 || got[0].Exchange != x || got[0].Method != "elicitation/create" {
		r.T.Fatalf("asked %+v", got)
	}
	return p, x, got[0]
}

// S19, protocol-matrix 10.10: a modern server's question reaches a legacy client within its call,
// and the answer reaches the server, with the server's state and a new id. No other client is told
// of the round trips.
func TestModernServerAsksALegacyClient(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, x, q := asking(r)
		if strings.Contains(string(q.Params), "mode") {
			t.Errorf("asked %s", q.Params)
		}
		r.send(&client.Answer{
			Question: q.ID,
			Result:   jsontext.Value(`{"action":"accept","content":{"name":"Ada"},"_meta":{"x":1}}`),
		})
		r.send(&client.Answer{Question: q.ID, Result: jsontext.Value(`{"action":"decline"}`)})
		again := p.Expect("tools/call")
		answers, _ := jsonedit.Get(again.Params, "inputResponses")
		state, _ := jsonedit.GetString(again.Params, "requestState")
		n, _ := jsonedit.Get(again.Params, "arguments", "n")
		if string(answers) != `{"who":{"action":"accept","content":{"name":"Ada"}}}` || state != "s-1" ||
			string(n) != "12345678901234567890" {
			t.Errorf("called again with %s", again.Params)
		}
		if len(r.outcomes()) != 0 {
			t.Errorf("outcomes before the end: %v", r.outcomes())
		}
		p.Notify(again.ID, "notifications/progress", `{"progressToken":`+again.ID.Raw()+`,"progress":1}`)
		p.Reply(again, `{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`)
		if got := r.outcome(x); string(got.Result) != `{"content":[{"type":"text","text":"hello"}]}` {
			t.Errorf("got %s %v", got.Result, got.Err)
		}
		heard := x.Sink.(*testrig.Sink).Sent()
		if len(heard) != 1 || string(heard[0].Params) != `{"progressToken":"t","progress":1}` {
			t.Errorf("the client heard %v", heard)
		}
		p.ExpectNothing(time.Second)
	})
}

// To the client the round trips are one call: the progress that it is told increases, wherever each
// round trip begins to count. Progress that does not increase is not passed on.
func TestProgressGoesOnInTheNextRound(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.modernly(`{"tools":{}}`)
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Token = jsontext.Value(`"t"`)
		r.send(&request.Forward{Exchange: x})
		report := func(call jsonrpc.Message, values ...string) {
			for _, v := range values {
				p.Notify(call.ID, "notifications/progress",
					`{"progressToken":`+call.ID.Raw()+`,"progress":`+v+`}`)
			}
		}
		first := p.Expect("tools/call")
		report(first, "1", "2", `"3"`, "1")
		p.Reply(first, `{"resultType":"input_required","requestState":"later"}`)
		again := p.Expect("tools/call")
		report(again, "1", "2", "3")
		p.Reply(again, `{"resultType":"complete","content":[]}`)
		r.outcome(x)
		var got []string
		for _, m := range x.Sink.(*testrig.Sink).Sent() {
			v, _ := jsonedit.Get(m.Params, "progress")
			got = append(got, string(v))
		}
		if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
			t.Errorf("the client heard %v, want %v", got, want)
		}
	})
}

// S31 of the attack checklist: a client that did not declare what its modern server asks for gets
// no question, but an error that the server is wrong.
func TestModernServerAsksWhatWasNotDeclared(t *testing.T) {
	for name, test := range map[string]struct {
		change setup
		asked  bool
	}{"declared": {modern(elicits), true}, "not declared": {modern(`{}`), false}} {
		t.Run(name, func(t *testing.T) {
			run(t, test.change, func(r *rig) {
				p := r.modernly(`{"tools":{}}`)
				x := r.exchange("one", "tools/call", `{"name":"a"}`)
				x.Version = protocol.V20260728
				r.send(&request.Forward{Exchange: x})
				p.Reply(p.Expect("tools/call"), asksName)
				got := r.outcome(x)
				if asked := got.Err == nil &&
					strings.Contains(string(got.Result), "inputRequests"); asked != test.asked {
					t.Errorf("got %s, %v", got.Result, got.Err)
				}
			})
		})
	}
}

// A question that the client refuses is answered for the client, or ends the call, depending on its
// kind. An error of the server is passed on.
func TestRoundsThatFail(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, _, q := asking(r)
		r.send(&client.Answer{Question: q.ID, Err: &jsonrpc.Error{Code: -1, Message: "no"}})
		again := p.Expect("tools/call")
		if answers, _ := jsonedit.Get(again.Params,
			"inputResponses"); string(answers) != `{"who":{"action":"cancel"}}` {
			t.Errorf("called again with %s", again.Params)
		}
		p.Refuse(again, -32602, "no such name")
		var told *jsonrpc.Error
		if got := r.outcomes(); len(got) != 1 || !errors.As(got[0].Err, &told) || told.Code != -32602 {
			t.Errorf("outcomes %+v", got)
		}
	})
}

// A call that is cancelled while its client is asked ends at once: the question is withdrawn, and
// the server is not called again.
func TestCancelledWhileAsked(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, x, q := asking(r)
		r.send(&request.Withdraw{ID: x.ID, Reason: "cancelled by the client"})
		r.WaitIdle()
		if got := testrig.Of[*client.Withdrawn](&r.one.Log); len(got) != 1 || got[0].Question != q.ID {
			t.Errorf("withdrawn: %+v", got)
		}
		r.send(&client.Answer{Question: q.ID, Result: jsontext.Value(`{"action":"decline"}`)})
		p.ExpectNothing(time.Minute)
		if len(r.outcomes()) != 0 {
			t.Errorf("outcomes: %+v", r.outcomes())
		}
	})
}

// A call that is cancelled while the server works on the answers is cancelled there, under the id
// of the last attempt.
func TestCancelledWhileCalledAgain(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, x, q := asking(r)
		r.send(&client.Answer{Question: q.ID, Result: jsontext.Value(`{"action":"decline"}`)})
		again := p.Expect("tools/call")
		r.send(&request.Withdraw{ID: x.ID, Reason: "cancelled by the client"})
		m := p.Expect("notifications/cancelled")
		if id, _ := jsonedit.Get(m.Params, "requestId"); string(id) != again.ID.Raw() {
			t.Errorf("cancelled %s, want %s", m.Params, again.ID.Raw())
		}
		p.Reply(again, `{"resultType":"complete","content":[]}`)
		p.ExpectNothing(time.Second)
		if len(r.outcomes()) != 0 {
			t.Errorf("outcomes: %+v", r.outcomes())
		}
	})
}

// A server that ends while its question is open ends the call, which it may have begun to work on.
func TestServerEndsWhileItAsks(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, x, q := asking(r)
		p.Close(errors.New("gone"))
		r.WaitIdle()
		if got := r.outcome(x); protocol.ConditionOf(got.Err) != protocol.ConditionUpstreamLost {
			t.Errorf("got %v", got.Err)
		}
		if got := testrig.Of[*client.Withdrawn](&r.one.Log); len(got) != 1 || got[0].Question != q.ID {
			t.Errorf("withdrawn: %+v", got)
		}
	})
}

// A server that wants nothing but to be called again is called again, after a pause.
func TestServerWantsToBeCalledAgain(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.modernly(`{"tools":{}}`)
		x := r.call("one")
		p.Reply(p.Expect("tools/call"), `{"resultType":"input_required","requestState":"later"}`)
		p.ExpectNothing(rounds.Backoff - time.Millisecond)
		again := p.Expect("tools/call")
		if state, _ := jsonedit.GetString(again.Params, "requestState"); state != "later" {
			t.Errorf("called again with %s", again.Params)
		}
		p.Reply(again, `{"resultType":"complete","content":[]}`)
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// A result without a type is given one for a modern client.
func TestResultWithoutATypeIsComplete(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.modernly(`{"tools":{}}`)
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Version = protocol.V20260728
		r.send(&request.Forward{Exchange: x})
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(x); string(got.Result) != `{"content":[],"resultType":"complete"}` {
			t.Errorf("got %s %v", got.Result, got.Err)
		}
	})
}

// A result that asks for something undeclared, or is broken, is the server's mistake.
func TestRoundsOfAServerThatBreaksTheRules(t *testing.T) {
	for name, result := range map[string]string{
		"undeclared": `{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`,
		"empty":      `{"resultType":"input_required"}`,
		"unknown":    `{"resultType":"later"}`,
		"number":     `5`,
		"null":       `null`,
		"array":      `[]`,
		"task":       `{"resultType":"task","taskId":"t"}`,
		"method":     `{"resultType":"input_required","inputRequests":{"k":{"method":"foo/bar","params":{}}}}`,
		"mode":       `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","url":"https://a","message":"m"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []protocol.Version{protocol.V20251125, protocol.V20260728} {
				run(t, modern(elicits), func(r *rig) {
					p := r.modernly(`{"tools":{}}`)
					x := r.exchange("one", "tools/call", `{"name":"a"}`)
					x.Version = v
					r.send(&request.Forward{Exchange: x})
					p.Reply(p.Expect("tools/call"), result)
					if got := r.outcome(x); got.Err == nil ||
						protocol.Translate(got.Err, x.Version).Code != -32603 {
						t.Errorf("%v got %s %v", v, got.Result, got.Err)
					}
					if len(asked(&r.one)) != 0 {
						t.Errorf("%v: the client was asked", v)
					}
				})
			}
		})
	}
}
