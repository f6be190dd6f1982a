package client_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// refusedAnswer makes a remote server ask something during a call, and refuse the answer.
func (r *rig) refusedAnswer(p *mcptest.Peer, during jsonrpc.ID, u streamable.Undelivered) {
	r.T.Helper()
	p.Ask(during, question, "elicitation/create", `{"message":"name?"}`)
	r.WaitIdle()
	r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"action":"decline"}`)})
	p.ExpectAnswer(question)
	u.ID = question
	p.Send(transport.Inbound{Control: u})
	r.WaitIdle()
}

func (r *rig) readyRemote() *mcptest.Peer {
	r.T.Helper()
	p := r.serverAtURL()
	p.Handshake(`{"tools":{}}`)
	p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
	r.WaitIdle()
	r.attach("one")
	return p
}

var noSession = &streamable.StatusError{
	Status: 400, Body: "Missing session ID for sampling response",
}

// A server without sessions refuses the answer to its own question, and waits for it all the same.
// Its caller gets an error soon, and the server is told that nobody waits.
func TestCallWhoseAnswerIsRefusedEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		related bool // the server asked on the stream of the call
		err     error
	}{
		"on its stream":    {true, noSession},
		"on none":          {false, noSession},
		"it takes no POST": {true, &streamable.StatusError{Status: 405}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, declares(elicits), func(r *rig) {
				p := r.readyRemote()
				x := r.call("one")
				m := p.Expect("tools/call")
				during := m.ID
				if !tt.related {
					during = jsonrpc.ID{}
				}
				r.refusedAnswer(p, during, streamable.Undelivered{Err: tt.err})
				p.ExpectNothing(client.RefusedAnswerWait - time.Second)
				if got := testrig.Of[telemetry.ReplyDropped](&r.Events); len(got) != 1 ||
					got[0].Reason != "refused" ||
					got[0].Method != "elicitation/create" {
					t.Errorf("told of %+v", got)
				}
				if c := p.Expect("notifications/cancelled"); !strings.Contains(string(c.Params), m.ID.Raw()) {
					t.Errorf("cancelled %s", c.Params)
				}
				r.WaitIdle()
				got := r.outcome(x).Err
				told := protocol.Translate(got, protocol.V20251125)
				if !errors.Is(got, protocol.ConditionUpstreamInvalid) ||
					!strings.Contains(string(told.Data), `"maybeExecuted":true,"retryable":false`) ||
					!strings.Contains(told.Message, "did not take the answer: tools.example:8443: status 4") {
					t.Errorf("the caller is told %s %s", told.Message, told.Data)
				}
				p.Reply(m, `{"content":[]}`) // too late
				r.WaitIdle()
				r.outcome(x)
			})
		})
	}
}

// A question that no client can be asked is refused, and a server may refuse that answer too.
func TestCallWhoseRefusalIsRefusedEnds(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyRemote()
		x := r.call("one")
		m := p.Expect("tools/call")
		p.Ask(m.ID, question, "elicitation/create", `{"message":"name?"}`)
		p.ExpectAnswer(question)
		p.Send(transport.Inbound{Control: streamable.Undelivered{ID: question, Err: noSession}})
		time.Sleep(client.RefusedAnswerWait)
		p.Expect("notifications/cancelled")
		r.WaitIdle()
		r.outcome(x)
	})
}

// A server that asks again and again, and refuses each answer, takes one timer for its call.
func TestRefusedAnswersShareATimer(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyRemote()
		r.call("one")
		m := p.Expect("tools/call")
		before := r.timers()
		for n := range 100 {
			id := jsonrpc.StringID(fmt.Sprint("q-", n))
			p.Ask(m.ID, id, "elicitation/create", `{"message":"name?"}`)
			p.ExpectAnswer(id)
			p.Send(transport.Inbound{Control: streamable.Undelivered{ID: id, Err: noSession}})
			time.Sleep(client.RefusedAnswerWait / 50)
		}
		r.WaitIdle()
		const told = 1 // the timer of the answers that the log has yet to count
		if got := r.timers() - before; got > told+1 {
			t.Errorf("%d timers more, want one of the call", got)
		}
		p.Reply(m, `{"content":[]}`)
		r.WaitIdle()
		if got := r.timers() - before; got > told {
			t.Errorf("%d timers more in the end, want none of the call", got)
		}
	})
}

// timers returns how many timers of the connection have not fired.
func (r *rig) timers() int { r.T.Helper(); return r.node().Holds.Timers }

// A server that has asked something else goes on with the call once it has the answer to that.
func TestCallThatAsksSomethingElseGoesOn(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.readyRemote()
		x := r.call("one")
		m := p.Expect("tools/call")
		// If late, the first answer is refused behind the next question.
		for _, late := range []bool{false, true} {
			first, next := jsonrpc.StringID("first"), jsonrpc.StringID("next")
			ask := func(id jsonrpc.ID) { p.Ask(m.ID, id, "elicitation/create", `{"message":"name?"}`) }
			answer := func(id jsonrpc.ID) {
				r.WaitIdle()
				r.send(&client.Answer{Question: id, Result: jsontext.Value(`{"action":"decline"}`)})
				p.ExpectAnswer(id)
			}
			refuse := func() {
				p.Send(transport.Inbound{Control: streamable.Undelivered{ID: first, Err: noSession}})
			}
			ask(first)
			answer(first)
			if !late {
				refuse()
			}
			ask(next)
			if late {
				refuse()
			}
			p.ExpectNothing(3 * client.RefusedAnswerWait) // while the user thinks
			answer(next)
			p.ExpectNothing(3 * client.RefusedAnswerWait)
		}
		p.Reply(m, `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// A server that has stopped waiting for the answer, and refuses it because it comes late, goes on
// with the call. A call whose answer may have arrived does not end either.
func TestCallWhoseServerGoesOnGoesOn(t *testing.T) {
	for name, tt := range map[string]struct {
		u     streamable.Undelivered
		lasts time.Duration
		signs bool
	}{
		"it answers": {streamable.Undelivered{Err: noSession},
			client.RefusedAnswerWait / 2, false},
		"it says something": {streamable.Undelivered{Err: noSession},
			3 * client.RefusedAnswerWait, true},
		"it may have the answer": {streamable.Undelivered{Err: io.ErrUnexpectedEOF, Written: true},
			3 * client.RefusedAnswerWait, false},
		"a notification was lost": {streamable.Undelivered{Method: "x", Err: noSession},
			3 * client.RefusedAnswerWait, false},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, declares(elicits), func(r *rig) {
				p := r.readyRemote()
				x := r.call("one")
				m := p.Expect("tools/call")
				if tt.u.Method != "" {
					p.Send(transport.Inbound{Control: tt.u})
				} else {
					r.refusedAnswer(p, m.ID, tt.u)
				}
				for remaining := tt.lasts; remaining > 0; remaining -= time.Second {
					if tt.signs {
						p.Notify(m.ID, "notifications/message", `{"level":"info","data":1}`)
					}
					p.ExpectNothing(time.Second)
				}
				p.Reply(m, `{"content":[]}`)
				r.WaitIdle()
				if got := r.outcome(x); got.Err != nil {
					t.Error(got.Err)
				}
			})
		})
	}
}

// Progress names its call by a token. A server may report it on another stream, as one that has
// asked there does. The call then goes on, because the server still works on it.
func TestCallOfWhichProgressIsReportedGoesOn(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.readyRemote()
		x := r.exchange("one", "tools/call", `{"name":"a","_meta":{"progressToken":1}}`)
		x.Token = jsontext.Value("1")
		r.send(&request.Forward{Exchange: x})
		m := p.Expect("tools/call")
		r.refusedAnswer(p, jsonrpc.ID{}, streamable.Undelivered{Err: noSession})
		for n := range 10 {
			progress := fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, m.ID.Raw(), n+1)
			p.Notify(jsonrpc.ID{}, "notifications/progress", progress)
			p.ExpectNothing(client.RefusedAnswerWait / 2)
		}
		p.Reply(m, `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
	})
}
