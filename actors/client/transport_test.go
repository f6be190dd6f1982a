package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// wire is a transport with a process id, whose writing fails when a test says so.
type wire struct {
	transport.Upstream
	pid  int
	fail error        // of every tools/call
	full atomic.Value // a method of which no message can be queued
	bomb bool         // the next tools/call crashes the actor that sends it
}

func (w *wire) Send(ctx context.Context, m jsonrpc.Message) error {
	switch {
	case w.bomb && m.Method == "tools/call":
		w.bomb = false
		panic("asked to")
	case w.fail != nil && m.Method == "tools/call":
		return w.fail
	case w.full.Load() == m.Method:
		return transport.ErrSlowConsumer
	}
	return w.Upstream.Send(ctx, m)
}

// wired returns a server behind such a transport.
func (r *rig) wired(fail error) *mcptest.Peer {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	r.dials <- dial{up: &wire{Upstream: up, pid: 4242, fail: fail}}
	return p
}

func (w *wire) Info() transport.Info { return transport.Info{Transport: "stdio", PID: w.pid} }

// A server that does not read its input has calls refused at once. They were not executed, and
// others go on.
func TestCallThatCannotBeWrittenIsRefused(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.wired(transport.ErrSlowConsumer)
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		if got := r.outcome(r.call("one")); !errors.Is(got.Err, protocol.ConditionOverloaded) {
			t.Errorf("got %v", got.Err)
		}
		other := r.forward("one", "prompts/get", `{}`)
		p.Reply(p.Expect("prompts/get"), `{}`)
		if got := r.outcome(other); got.Err != nil {
			t.Errorf("another: %v", got.Err)
		}
	})
}

// If a server has calls in flight, a call that finds no room in its input waits for room, in its
// turn: until one of those calls is answered, or for a while.
func TestCallWaitsForRoomInTheInputOfAServerThatReads(t *testing.T) {
	for name, room := range map[string]func(p *mcptest.Peer, first jsonrpc.Message){
		"an answer": func(p *mcptest.Peer, first jsonrpc.Message) { p.Reply(first, `{}`) },
		"time":      func(*mcptest.Peer, jsonrpc.Message) {},
	} {
		run(t, nil, func(r *rig) {
			p, up := mcptest.NewPeer(r.T)
			w := &wire{Upstream: up}
			r.dials <- dial{up: w}
			p.Handshake(`{"tools":{}}`)
			p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
			r.WaitIdle()
			first := r.forward("one", "prompts/get", `{}`)
			got := p.Expect("prompts/get")
			w.full.Store("tools/call")
			second, third := r.call("one"), r.call("one")
			fourth := r.forward("one", "prompts/get", `{"name":"behind"}`)
			r.WaitIdle()
			w.full.Store("")
			room(p, got)
			var held []jsonrpc.Message
			for _, method := range []string{"tools/call", "tools/call", "prompts/get"} {
				held = append(held, p.Expect(method))
			}
			if name == "time" {
				p.Reply(got, `{}`)
			}
			for _, m := range held {
				p.Reply(m, `{}`)
			}
			for i, x := range []*request.Exchange{first, second, third, fourth} {
				if o := r.outcome(x); o.Err != nil {
					t.Errorf("%s: call %d: %v", name, i, o.Err)
				}
			}
		})
	}
}

// A call that waits for room is refused when nothing is in flight any more: the server does not
// read.
func TestCallThatWaitsForRoomIsRefusedWhenNothingIsInFlight(t *testing.T) {
	run(t, nil, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		w := &wire{Upstream: up}
		r.dials <- dial{up: w}
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		first := r.forward("one", "prompts/get", `{}`)
		got := p.Expect("prompts/get")
		w.full.Store("tools/call")
		second := r.call("one")
		r.WaitIdle()
		p.Reply(got, `{}`)
		if o := r.outcome(first); o.Err != nil {
			t.Error(o.Err)
		}
		if o := r.outcome(second); !errors.Is(o.Err, protocol.ConditionOverloaded) {
			t.Errorf("got %v", o.Err)
		}
	})
}

// A list that could not be asked for is given up once. It is not given up again when its time is
// over, and no request is cancelled that the server never got.
func TestRequestThatCannotBeWrittenEndsOnce(t *testing.T) {
	run(t, nil, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		w := &wire{Upstream: up}
		w.full.Store("tools/list")
		r.dials <- dial{up: w}
		p.Handshake(`{"tools":{},"prompts":{}}`)
		prompts := p.Expect("prompts/list")
		r.WaitIdle()
		if got := r.report().State; got != client.Starting {
			t.Errorf("%s before the other list is known", got)
		}
		p.Reply(prompts, `{"prompts":[]}`)
		r.WaitIdle()
		w.full.Store("")
		p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
		p.ExpectNothing(time.Minute)
	})
}

// A subscription that could not be written holds nothing: the next session that gives up the
// resource is the last.
func TestSubscriptionThatCannotBeWrittenHoldsNothing(t *testing.T) {
	const uri = `{"uri":"test://x"}`
	run(t, nil, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		w := &wire{Upstream: up}
		r.dials <- dial{up: w}
		p.Handshake(`{"resources":{"subscribe":true}}`)
		p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
		p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
		r.WaitIdle()
		r.attach("one")
		r.attach("two")
		w.full.Store("resources/subscribe")
		r.forward("one", "resources/subscribe", uri)
		w.full.Store("")
		r.forward("two", "resources/subscribe", uri)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.forward("two", "resources/unsubscribe", uri)
		p.Expect("resources/unsubscribe")
	})
}

// A crash on one of the calls that waited for the server loses that call, and not those behind it.
func TestCrashOnACallThatWaitedLosesNoOther(t *testing.T) {
	run(t, nil, func(r *rig) {
		hit, behind := r.call("one"), r.call("one")
		p, up := mcptest.NewPeer(r.T)
		r.dials <- dial{up: &wire{Upstream: up, bomb: true}}
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		p = r.ready(`{"tools":{}}`)
		p.Reply(p.Expect("tools/call"), `{}`)
		if got := r.outcome(behind); got.Err != nil {
			t.Errorf("the one behind: %v", got.Err)
		}
		if got := r.outcome(hit); !errors.Is(got.Err, protocol.ConditionUpstreamLost) {
			t.Errorf("the one it crashed on: %v", got.Err)
		}
	})
}

// F16: a call that meets the end of its server unread is sent to the next one. It was never
// executed.
func TestCallThatWasNotReadIsSentToTheNextServer(t *testing.T) {
	for name, written := range map[string]bool{"closed before it is written": false,
		"not read by the program": true} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				var fail error
				if !written {
					fail = transport.ErrClosed
				}
				p := r.wired(fail)
				p.Handshake(`{"tools":{}}`)
				p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
				r.WaitIdle()
				x := r.call("one")
				if written {
					p.Send(transport.Inbound{RequestID: p.Expect("tools/call").ID, Err: errors.New("broken pipe")})
					r.WaitIdle()
					p.ExpectNothing(time.Second) // nothing more is sent to a server that ends
				}
				p.Close(nil)
				p = r.ready(`{"tools":{}}`)
				p.Reply(p.Expect("tools/call"), `{"which":"next"}`)
				if got := r.outcome(x); string(got.Result) != `{"which":"next"}` {
					t.Errorf("got %s, %v", got.Result, got.Err)
				}
			})
		})
	}
}

// A request of the host itself that the transport could not carry ends like one that was refused.
func TestHandshakeThatCannotBeCarried(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Send(transport.Inbound{
			RequestID: p.Expect("initialize").ID, Err: errors.New("http status 503"),
		})
		r.WaitIdle()
		if got := r.Ref("conn").Incarnation(); got != 2 {
			t.Errorf("incarnation %d, want another try", got)
		}
	})
}

// stream is the reply side of a call whose client can be made to come back.
type stream struct {
	testrig.Sink
	retry time.Duration
}

func (s *stream) CloseStream(retry time.Duration) { s.retry = retry }

// A server that closes a call's stream for a while makes the host do the same to its client.
func TestClosedStreamIsPassedOn(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		out := &stream{}
		r.next++
		x := &request.Exchange{
			ID: r.next, Session: "one", Owner: r.Ref("one"), Method: "tools/call", Sink: out,
		}
		r.send(&request.Forward{Exchange: x})
		p.Send(transport.Inbound{
			RequestID: p.Expect("tools/call").ID, Control: transport.CloseStream{Retry: time.Second},
		})
		r.WaitIdle()
		if out.retry != time.Second {
			t.Errorf("retry %v", out.retry)
		}
	})
}

// A question whose session crashes on it is refused, so that the server does not wait.
func TestQuestionThatCrashesItsSessionIsRefused(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.call("one")
		p.Expect("tools/call")
		r.Break("one", "*client.Question")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		if a := p.ExpectAnswer(question); a.Error == nil {
			t.Errorf("answered %v", a)
		}
	})
}
