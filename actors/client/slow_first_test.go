package client_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
)

// slow makes the first connection work on a call of the session "one", and the other instance ask
// the user of the session "two" during a call of the tool "a". Call is that of the other instance.
func (r *rig) slow(who *presence) (p, q *mcptest.Peer, call jsonrpc.Message) {
	r.T.Helper()
	p = r.program(r.dials)
	r.forward("one", "tools/call", `{"name":"slow"}`)
	p.Expect("tools/call")
	x := r.exchange("two", "tools/call", `{"name":"a"}`)
	x.Owner = owner{r.Ref("two"), who}
	r.send(&request.Forward{Exchange: x})
	q = r.grow()
	call = q.Expect("tools/call")
	q.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
	r.WaitIdle()
	return p, q, call
}

// third hands in a call of a third session.
func (r *rig) third(params string) *request.Exchange {
	r.T.Helper()
	x := r.exchange("two", "tools/call", params)
	x.Session = "three"
	r.send(&request.Forward{Exchange: x})
	return x
}

// A call does not wait for a slow one while a user is asked on another instance: it is written
// there.
func TestCallPassesAUserWhoIsAskedOnAnotherInstance(t *testing.T) {
	run(t, shared, func(r *rig) {
		p, q, held := r.slow(&presence{})
		asks := r.third(`{"name":"a"}`) // this would ask its user too
		echo := r.third(`{"name":"echo"}`)
		time.Sleep(2 * client.Patience)
		m := q.Expect("tools/call")
		if !strings.Contains(string(m.Params), "echo") {
			t.Errorf("wrote %s", m.Params)
		}
		p.ExpectNothing(time.Second)
		q.Reply(m, `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(echo); got.Err != nil {
			t.Error(got.Err)
		}
		q.Reply(held, `{"content":[]}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(asks); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// A call that would ask its user gets the place of a question whose client is gone, although the
// first connection works on a slow call.
func TestAbandonedQuestionOfAnotherInstanceIsGivenUp(t *testing.T) {
	run(t, shared, func(r *rig) {
		var who presence
		_, q, held := r.slow(&who)
		x := r.third(`{"name":"a"}`)
		time.Sleep(2 * client.Patience)
		who.leave(time.Now())
		time.Sleep(client.GoneAfter + time.Second)
		if a := q.ExpectAnswer(question); a.Error == nil {
			t.Errorf("answered %s", a.Result)
		}
		q.Reply(held, `{"content":[]}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// A call of the session that has the slow call need not wait for it once the calls before it have
// gone elsewhere.
func TestCallGoesOnWhenThoseBeforeItHaveGoneElsewhere(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.forward("one", "tools/call", `{"name":"slow"}`)
		p.Expect("tools/call")
		r.forward("two", "tools/call", `{"name":"b"}`)
		r.forward("one", "tools/call", `{"name":"echo"}`)
		r.grow().Expect("tools/call")
		p.Expect("tools/call")
	})
}

// A call that has to stay on the first connection does not keep those behind it from other
// instances.
func TestCallThatStaysKeepsNobody(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		m := p.Expect("tools/call")
		x := r.exchange("two", "tools/call", `{"name":"a","task":{}}`)
		x.NeedsConnection = true
		r.send(&request.Forward{Exchange: x})
		r.third(`{"name":"echo"}`)
		q := r.grow()
		if got := q.Expect("tools/call"); !strings.Contains(string(got.Params), "echo") {
			t.Errorf("the instance got %s", got.Params)
		}
		p.ExpectNothing(time.Second)
		p.Reply(m, `{"content":[]}`)
		p.Expect("tools/call")
	})
}
