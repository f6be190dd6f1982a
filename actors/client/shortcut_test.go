package client_test

import (
	"cmp"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/telemetry"
)

// An answer does not wait for its connection, which may be busy, unless the connection has
// something to do with the answer.
func TestPlainAnswerTakesTheShortWay(t *testing.T) {
	const content = `{"content":[]}`
	for name, tt := range map[string]struct {
		method string // tools/call where it is empty
		change func(x *request.Exchange)
		answer string
		plain  bool
	}{
		"a call":   {answer: content, plain: true},
		"a prompt": {method: "prompts/get", answer: `{"messages":[]}`, plain: true},
		"an error of the tool": {
			answer: `{"content":[],"isError":true}`, plain: true,
		},
		"no object": {answer: `[]`},
		"a list":    {method: "tools/list", answer: `{"tools":[]}`},
		"one that has progress": {
			change: func(x *request.Exchange) { x.Token = []byte("1") }, answer: content,
		},
		"one that makes a task": {
			change: func(x *request.Exchange) {
				x.NeedsConnection = true
			}, answer: `{"task":{"taskId":"t"}}`,
		},
		"one that awaits a line": {
			change: func(x *request.Exchange) { x.Level = "info" }, answer: content,
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.ready(`{"tools":{}}`)
				r.attach("one")
				method := cmp.Or(tt.method, "tools/call")
				x := r.exchange("one", method, `{"name":"a"}`)
				if tt.change != nil {
					tt.change(x)
				}
				r.send(&request.Forward{Exchange: x})
				m := p.Expect(method)
				letGo := r.Stalls.Arm("conn", "client.Describe")
				r.send(client.Describe{})
				p.Reply(m, tt.answer)
				if r.WaitIdle(); x.Settled() != tt.plain {
					t.Errorf("it has its outcome while the connection is at something else: %t", x.Settled())
				}
				letGo()
				if r.WaitIdle(); !x.Settled() {
					t.Error("it has no outcome")
				}
				r.send(client.Describe{})
				r.WaitIdle()
				if got := r.node().Extra.(client.Status).InFlight; got != 0 {
					t.Errorf("%d in flight", got)
				}
			})
		})
	}
}

// An answer overtakes no earlier message of its server.
func TestShortWayOvertakesNothing(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"logging":{}}`)
		r.attach("one")
		x := r.call("one")
		m := p.Expect("tools/call")
		letGo := r.Stalls.Arm("conn", "client.inbound")
		p.Notify(m.ID, "notifications/message", `{"level":"error","data":"first"}`)
		p.Reply(m, `{"content":[]}`)
		if r.WaitIdle(); x.Settled() {
			t.Error("the answer has overtaken what was said before")
		}
		letGo()
		r.WaitIdle()
		sink := x.Sink.(*testrig.Sink)
		if said := sink.Sent(); len(said) != 1 || sink.Word() != "result" {
			t.Errorf("%v, and then %v", said, sink.Word())
		}
	})
}

// A late answer that took the shortcut is counted, like one that passed through the connection.
func TestLateAnswerOnTheShortWayIsCounted(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.attach("one")
		x := r.call("one")
		m := p.Expect("tools/call")
		x.Settle(request.Outcome{Ending: request.TimedOut})
		p.Reply(m, `{"content":[]}`)
		r.WaitIdle()
		r.outcome(x)
		dropped := testrig.Of[telemetry.ReplyDropped](&r.Events)
		if len(dropped) != 1 || dropped[0].Reason != "late" || dropped[0].Method != "tools/call" {
			t.Errorf("%+v", dropped)
		}
	})
}

// The last call, after which a program stays awake for an hour, may be one whose answer took the
// shortcut.
func TestShortWayKeepsTheServerAwake(t *testing.T) {
	const idle = time.Hour
	run(t, func(o *client.Options) { o.Idle = idle }, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.attach("one")
		time.Sleep(idle / 2)
		r.call("one")
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		time.Sleep(idle * 3 / 4)
		if r.WaitIdle(); r.report().State != client.Ready {
			t.Errorf("%v", r.report().State)
		}
		time.Sleep(idle / 2)
		if r.WaitIdle(); r.report().State != client.Stopped {
			t.Errorf("%v", r.report().State)
		}
	})
}
