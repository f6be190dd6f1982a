package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// sleepy is a connection whose server may sleep after a minute.
func sleepy(o *client.Options) { o.Idle, o.Linger = time.Minute, time.Hour }

// awake reports whether the server is still there. A minute may have passed since.
func (r *rig) awake() bool {
	r.T.Helper()
	r.WaitIdle()
	return r.report().State == client.Ready && len(r.closed) == 0
}

// callsModernly hands in a stateless call, of a modern client.
func (r *rig) callsModernly() {
	x := r.exchange("one", "tools/call", `{"name":"a"}`)
	x.Version = protocol.Latest
	r.send(&request.Forward{Exchange: x})
}

// A server that nothing needs is ended although a session uses it. It is there for the next call,
// with the log level that it had.
func TestServerThatNothingNeedsSleeps(t *testing.T) {
	run(t, sleepy, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		time.Sleep(50 * time.Second)
		first := r.call("one")
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		r.outcome(first)
		time.Sleep(50 * time.Second)
		if !r.awake() {
			t.Fatal("it slept before a minute was over since the last call")
		}
		time.Sleep(11 * time.Second)
		p.ExpectClosed()
		if got := r.report(); got.State != client.Stopped || len(r.closed) != 1 {
			t.Fatalf("report: %+v", got)
		}
		if got := testrig.Of[telemetry.UpstreamAsleep](&r.Events); len(got) != 1 ||
			got[0].Server != "files" || got[0].Idle != time.Minute {
			t.Errorf("told %v", got)
		}
		if got := testrig.Of[telemetry.UpstreamExited](&r.Events); len(got) != 0 {
			t.Errorf("told as an end: %v", got)
		}
		granted := r.setIntent(client.SubscriptionIntent{Session: "one", Level: "info"})
		if len(granted) != 1 || <-granted != nil || r.report().State != client.Stopped {
			t.Error("a log level is no reason to start, nor to wait")
		}

		second := r.call("one")
		if got := r.report(); got.State != client.Starting {
			t.Errorf("report: %+v", got)
		}
		p = r.readyWithResources()
		if level, _ := jsonedit.GetString(p.Expect("logging/setLevel").Params, "level"); level != "info" {
			t.Errorf("asked for %s", level)
		}
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(second); got.Err != nil {
			t.Errorf("the call that woke it: %v", got.Err)
		}
		if got := r.report(); got.State != client.Ready || got.Incarnation != 1 || len(got.Changed) != 0 {
			t.Errorf("report: %+v", got)
		}
	})
}

// Clients are told of lists that differ when the server is back.
func TestListsAreComparedAfterSleep(t *testing.T) {
	run(t, sleepy, func(r *rig) {
		r.ready(`{"tools":{}}`)
		r.attach("one")
		time.Sleep(2 * time.Minute)
		r.call("one")
		p := r.server()
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
		if got := r.report(); len(got.Changed) != 1 || len(got.Lists[0]) != 1 {
			t.Errorf("report: %+v", got)
		}
	})
}

// A server that has work in progress, or something to announce, does not sleep.
func TestServerThatIsNeededDoesNotSleep(t *testing.T) {
	const extension = `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	for name, need := range map[string]func(r *rig) (over func()){
		"call": func(r *rig) func() {
			p := r.ready(`{"tools":{}}`)
			r.attach("one")
			r.call("one")
			m := p.Expect("tools/call")
			return func() { p.Reply(m, `{"content":[]}`) }
		},
		"subscription": func(r *rig) func() {
			p := r.readyWithResources()
			r.attach("one")
			r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
			p.Reply(p.Expect("resources/subscribe"), `{}`)
			return func() {
				r.forward("one", "resources/unsubscribe", `{"uri":"test://x"}`)
				p.Reply(p.Expect("resources/unsubscribe"), `{}`)
			}
		},
		"kept task": func(r *rig) func() {
			r.ready(`{"tools":{}}`)
			if _, err := testrig.Ask[client.AttachRequest, struct{}](r.Rig, "conn",
				client.AttachRequest{Session: "two", Ref: r.Ref("two"), Holds: true}); err != nil {
				r.T.Fatal(err)
			}
			r.attach("one")
			return func() { r.send(client.Detach{Ref: r.Ref("two")}) }
		},
		"task": func(r *rig) func() {
			p := r.modernly(extension)
			r.attach("one")
			r.callsModernly()
			p.Reply(p.Expect("tools/call"),
				`{"resultType":"task","taskId":"1","status":"working","ttlMs":1200000,"createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z"}`)
			return func() { time.Sleep(10 * time.Minute) }
		},
		"answer": func(r *rig) func() {
			p := r.modernly(`{"tools":{}}`)
			r.attach("one")
			r.callsModernly()
			p.Reply(p.Expect("tools/call"), `{"resultType":"input_required","requestState":"x"}`)
			return func() { time.Sleep(client.AnswerTime) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			change := sleepy
			if name == "task" || name == "answer" {
				change = func(o *client.Options) {
					modern(`{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)(o)
					sleepy(o)
				}
			}
			run(t, change, func(r *rig) {
				over := need(r)
				wait := 10 * time.Minute
				if name == "answer" {
					wait = client.AnswerTime - time.Minute
				}
				time.Sleep(wait)
				if !r.awake() {
					t.Fatal("it sleeps")
				}
				over()
				time.Sleep(3 * time.Minute)
				if r.awake() {
					t.Error("it never sleeps")
				}
			})
		})
	}
}

// No server sleeps unless that is configured, and a connection that nobody uses ends, asleep or
// not.
func TestSleepIsForServersInUse(t *testing.T) {
	run(t, func(o *client.Options) { o.Linger = time.Hour }, func(r *rig) {
		r.ready(`{"tools":{}}`)
		r.attach("one")
		time.Sleep(24 * time.Hour)
		if !r.awake() {
			t.Error("it sleeps")
		}
	})
	run(t, sleepy, func(r *rig) {
		r.ready(`{"tools":{}}`)
		r.attach("one")
		time.Sleep(2 * time.Minute)
		if r.awake() {
			t.Error("it does not sleep")
		}
		r.Send("one", otp.Normal)
		time.Sleep(2 * time.Minute)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) == 0 {
			t.Error("nobody uses it, and nobody hears of that")
		}
	})
}

// A subscription that a session brings with it wakes the server.
func TestSubscriptionWakesTheServer(t *testing.T) {
	run(t, sleepy, func(r *rig) {
		r.readyWithResources()
		r.attach("one")
		time.Sleep(2 * time.Minute)
		granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{"test://x"}})
		p := r.readyWithResources()
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		if len(granted) != 1 || <-granted != nil {
			t.Error("the intent was not granted")
		}
	})
}
