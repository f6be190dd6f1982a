package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// asks makes a session call a tool, and the server ask its user during the call.
func (r *rig) asks(p *mcptest.Peer) jsonrpc.Message {
	r.T.Helper()
	r.call("one")
	m := p.Expect("tools/call")
	p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
	r.WaitIdle()
	if got := asked(&r.one); len(got) != 1 {
		r.T.Fatalf("asked %v", got)
	}
	return m
}

// A user who does not answer keeps nobody else from the server. Where there is no other instance,
// calls are written beside the one that waits. A question that could be of either call is refused.
// The answer of the user waits until the server can mean only one call again.
func TestCallsPassOneWhoseUserIsAsked(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.program(r.dials)
		held := r.asks(p)
		second := r.forward("two", "tools/call", `{"name":"echo"}`)
		p.ExpectNothing(client.Patience / 2)
		m := p.Expect("tools/call")

		other := jsonrpc.StringID("other")
		p.Ask(jsonrpc.ID{}, other, "elicitation/create", `{}`)
		if a := p.ExpectAnswer(other); a.Error == nil {
			t.Errorf("a question of nobody is answered %s", a.Result)
		}
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"decline"}`)})
		p.ExpectNothing(time.Second)
		// This call waits until the first call has ended, or asks again.
		third := r.forward("two", "tools/call", `{"name":"echo"}`)
		p.Reply(m, `{"content":[]}`)
		if a := p.ExpectAnswer(question); string(a.Result) != `{"action":"decline"}` {
			t.Errorf("answered %s", a.Result)
		}
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		r.WaitIdle()
		if got := asked(&r.one); len(got) != 2 || len(asked(&r.two)) != 0 {
			t.Errorf("the second question of the call: asked %v", got)
		}
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"accept"}`)})
		p.ExpectAnswer(question)
		p.Reply(held, `{"content":[]}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if a, b := r.outcome(second), r.outcome(third); a.Err != nil || b.Err != nil {
			t.Error(a.Err, b.Err)
		}
	})
}

// When all instances that there may be are in use, a call that is known to ask its user is refused
// with the reason. The other calls do not wait for it.
func TestCallsThatAskAreRefusedWhileUsersAreAsked(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.asks(p)
		r.call("two")
		q := r.grow()
		q.Expect("tools/call")
		third := r.call("two")
		time.Sleep(protocol.QuestionWait)
		r.WaitIdle()
		if got := r.outcomes(); len(got) != 0 {
			t.Fatalf("it was not patient: %v", got)
		}
		time.Sleep(2 * time.Second)
		r.WaitIdle()
		var refusal *protocol.Error
		if got := r.outcome(third); !errors.As(got.Err, &refusal) ||
			refusal.Condition != protocol.ConditionTimeout || refusal.RetryAfter == 0 {
			t.Errorf("refused with %v", got.Err)
		}
		fourth := r.forward("two", "tools/call", `{"name":"echo"}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(fourth); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// While no other instance can be had, no call waits for one.
func TestCallsPassWhileNoInstanceCanBeHad(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.asks(p)
		r.forward("two", "tools/call", `{"name":"echo"}`)
		time.Sleep(client.Patience)
		r.WaitIdle()
		p.ExpectNothing(time.Second)
		r.wanted()[0].Fail(protocol.Overloaded("instances", time.Minute))
		p.Expect("tools/call")
	})
}

// The tools that are remembered as asking their user are bounded. A tool beyond the bound is
// called.
func TestAskersAreBounded(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.program(r.dials)
		for n := range client.MaxAskers {
			r.forward("one", "tools/call", fmt.Sprintf(`{"name":"t%d"}`, n))
			m := p.Expect("tools/call")
			p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
			r.WaitIdle()
			r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"decline"}`)})
			p.ExpectAnswer(question)
			p.Reply(m, `{"content":[]}`)
			r.WaitIdle()
		}
		r.one.Forget()
		r.asks(p)
		time.Sleep(client.Patience)
		known := r.forward("two", "tools/call", `{"name":"t0"}`)
		further := r.forward("two", "tools/call", `{"name":"a"}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`) // while the other one waits
		time.Sleep(protocol.QuestionWait + 2*time.Second)
		r.WaitIdle()
		if a, b := r.outcome(known), r.outcome(further); a.Err == nil || b.Err != nil {
			t.Errorf("got %v for one that is known, %v for one that is not", a.Err, b.Err)
		}
	})
}
