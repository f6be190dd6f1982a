package client_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
)

const resourceCapabilities = `{"tools":{},"logging":{},"resources":{"subscribe":true}}`

// readyWithResources returns a server that has resources and logs.
func (r *rig) readyWithResources() *mcptest.Peer {
	r.T.Helper()
	p := r.ready(resourceCapabilities)
	p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
	p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
	r.WaitIdle()
	return p
}

// S1-8, S2-22: several sessions subscribe to one resource, and the server is sent the first
// subscription and the last end only. The end of a subscription that it refused is not sent.
func TestSubscriptionsAreShared(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.attach("two")
		const uri = `{"uri":"test://x"}`
		first := r.forward("one", "resources/subscribe", uri)
		p.Refuse(p.Expect("resources/subscribe"), -32002, "not there")
		if got := r.outcome(first); got.Err == nil {
			t.Error("refused, and yet it succeeded")
		}
		r.forward("one", "resources/subscribe", uri)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		second := r.forward("two", "resources/subscribe", uri)
		if got := r.outcome(second); got.Err != nil || string(got.Result) != `{}` {
			t.Errorf("the second: %v", got)
		}
		third := r.forward("one", "resources/unsubscribe", uri)
		if got := r.outcome(third); got.Err != nil {
			t.Errorf("the first lets go: %v", got.Err)
		}
		p.ExpectNothing(time.Second)
		r.forward("two", "resources/unsubscribe", uri)
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		r.forward("two", "resources/subscribe", `{}`) // an error, as the server says
		p.Refuse(p.Expect("resources/subscribe"), -32602, "no uri")
		r.forward("two", "resources/unsubscribe", `{}`)
		p.Refuse(p.Expect("resources/unsubscribe"), -32602, "no uri")
	})
}

// S1-11: the server is asked for the most verbose of the levels that its sessions want, and again
// when that changes.
func TestLogLevelIsTheMostVerbose(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.attach("two")
		level := func(want string) {
			t.Helper()
			m := p.Expect("logging/setLevel")
			if got, _ := jsonedit.GetString(m.Params, "level"); got != want {
				t.Errorf("asked for %s, want %s", m.Params, want)
			}
			p.Reply(m, `{}`)
		}
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "error"})
		level("error")
		r.setIntent(client.SubscriptionIntent{Session: "two", Level: "debug"})
		level("debug")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "info"})
		p.ExpectNothing(time.Second)
		r.Send("two", otp.Normal)
		level("info")
	})
}

// S39 of the attack checklist: a client changes its mind without end. Its server is asked no faster
// than it answers, and in the end for what the client wanted last.
func TestLevelsThatChangeWithoutEnd(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		for i := range 100 {
			r.setIntent(client.SubscriptionIntent{Session: "one", Level: []string{"error", "debug"}[i%2]})
		}
		first := p.Expect("logging/setLevel")
		p.ExpectNothing(time.Second)
		p.Reply(first, `{}`)
		last := p.Expect("logging/setLevel")
		if got, _ := jsonedit.GetString(last.Params, "level"); got != "debug" {
			t.Errorf("asked for %s", last.Params)
		}
		p.Reply(last, `{}`)
		p.ExpectNothing(time.Second)
	})
}

// S4-104 and architecture of the host: after a restart the server is asked for everything that
// clients had asked of the one before.
func TestRestartRestoresWhatClientsWanted(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		p.Close(nil)
		p = r.readyWithResources()
		if m := p.Expect("logging/setLevel"); string(m.Params) != `{"level":"notice"}` {
			t.Errorf("level: %s", m.Params)
		}
		if m := p.Expect("resources/subscribe"); string(m.Params) != `{"uri":"test://x"}` {
			t.Errorf("subscription: %s", m.Params)
		}
		p.ExpectNothing(time.Second)
	})
}

// When a session ends, what only that session had wanted is given up. A session whose actor crashed
// is waited for, and keeps it when it is back.
func TestSessionThatEndsLetsGo(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		r.Break("one", "")
		r.Send("one", struct{}{})
		r.Struck()
		time.Sleep(client.Reattach / 2)
		r.attachAs("one", "two") // its new actor is at another address
		p.ExpectNothing(2 * client.Reattach)
		r.Send("two", otp.Normal)
		if m := p.Expect("resources/unsubscribe"); string(m.Params) != `{"uri":"test://x"}` {
			t.Errorf("got %s", m.Params)
		}
	})
}

// A connection that crashes on the message that a session has ended still gives up what the session
// had wanted.
func TestSessionEndsWhileItsConnectionIsDown(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		r.Break("conn", "otp.Down")
		r.Send("one", otp.Normal)
		r.Struck()
		p = r.readyWithResources()
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		if m := p.Expect("resources/unsubscribe"); string(m.Params) != `{"uri":"test://x"}` {
			t.Errorf("got %s", m.Params)
		}
	})
}

// A resource that is given up and wanted again at once stays wanted: the second request waits for
// the answer to the first, which it could overtake over HTTP.
func TestResourceIsLetGoOfAndWantedInOrder(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		intent := client.SubscriptionIntent{Session: "one", URIs: []string{"test://x"}}
		r.setIntent(intent)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		r.Send("one", otp.Normal)
		leaving := p.Expect("resources/unsubscribe")
		r.attach("two")
		intent.Session = "two"
		r.setIntent(intent)
		p.ExpectNothing(time.Second)
		p.Reply(leaving, `{}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		p.ExpectNothing(time.Second)

		r.forward("two", "resources/unsubscribe", `{"uri":"test://x"}`)
		leaving = p.Expect("resources/unsubscribe")
		r.attach("one")
		again := r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.ExpectNothing(time.Second)
		p.Reply(leaving, `{}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		if got := r.outcome(again); got.Err != nil || string(got.Result) != `{}` {
			t.Errorf("got %v", got)
		}
		p.ExpectNothing(time.Second)
	})
}

// A connection that nobody uses says so after its time, again and again, and never while a call is
// under way. The catalogue ends it.
func TestConnectionThatNobodyUsesSaysSo(t *testing.T) {
	for name, tt := range map[string]struct {
		change setup
		after  time.Duration
	}{
		"shared": {func(o *client.Options) { o.Linger = 5 * time.Minute }, 5 * time.Minute},
		"private": {func(o *client.Options) {
			o.Key = tenant.Key{Share: tenant.BySession, Session: "one"}
		}, client.Reattach},
		"kept": {func(o *client.Options) { o.Linger = 0 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, tt.change, func(r *rig) {
				p := r.ready(`{"tools":{}}`)
				r.attach("one")
				r.call("one")
				m := p.Expect("tools/call")
				r.Send("one", otp.Normal)
				unused := func() []*client.Unused { return testrig.Of[*client.Unused](&r.catalog.Log) }
				time.Sleep(3 * tt.after)
				if got := unused(); len(got) != 0 {
					t.Errorf("during a call: %v", got)
				}
				p.Reply(m, `{}`)
				time.Sleep(2*tt.after + time.Second)
				got := unused()
				if tt.after == 0 {
					if time.Sleep(time.Hour); len(unused()) != 0 {
						t.Errorf("one that is kept: %v", got)
					}
					return
				}
				if len(got) == 0 || got[0].From != r.Ref("conn") {
					t.Fatalf("nobody uses it: %v", got)
				}
				r.attach("two")
				before := len(unused())
				time.Sleep(3 * tt.after)
				if got := unused(); len(got) != before {
					t.Errorf("somebody uses it again: %v", got[before:])
				}
			})
		})
	}
}

// The state that a connection leaves behind when it is given up goes to the catalogue, and from
// there to the next connection.
func TestNextConnectionCarriesOn(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		sup := r.Tree.Ref()
		if err := otp.TerminateChild(r.T.Context(), sup, "conn"); err != nil {
			r.T.Fatal(err)
		}
		if err := otp.DeleteChild(r.T.Context(), sup, "conn"); err != nil {
			r.T.Fatal(err)
		}
		abandoned := testrig.Of[*client.AbandonedState](&r.catalog.Log)
		if len(abandoned) != 1 || abandoned[0].Server != "files" ||
			abandoned[0].Levels["one"] != "notice" ||
			!abandoned[0].URIs["test://x"]["one"] || abandoned[0].Sessions["one"] != r.Ref("one") {
			t.Fatalf("left: %+v", abandoned)
		}
	})
	run(t, func(o *client.Options) {
		o.Restore = &client.AbandonedState{
			Sessions: map[string]otp.Ref{"one": o.Catalog}, Levels: map[string]string{"one": "notice"},
			URIs: map[string]map[string]bool{"test://x": {"one": true}},
		}
	}, func(r *rig) {
		p := r.readyWithResources()
		p.Expect("logging/setLevel")
		p.Expect("resources/subscribe")
	})
}

// The catalogue may ask for the state of a connection.
func TestDescribeIsAnsweredWithAReport(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.ready(`{"tools":{}}`)
		r.catalog.Forget()
		r.send(client.Describe{})
		if got := r.report(); got.State != client.Ready || len(got.Lists[0]) != 2 {
			t.Errorf("report: %+v", got)
		}
	})
}

// A subscription that is on its way to the server is not ended when another session gives up the
// same resource.
func TestSubscriptionOnItsWayIsNotTakenAway(t *testing.T) {
	const uri = `{"uri":"test://x"}`
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.attach("two")
		r.forward("one", "resources/subscribe", uri)
		first := p.Expect("resources/subscribe")
		second := r.forward("two", "resources/subscribe", uri)
		p.ExpectNothing(time.Second)
		p.Reply(first, `{}`)
		r.WaitIdle()
		third := r.forward("one", "resources/unsubscribe", uri)
		if got := r.outcome(third); got.Err != nil {
			t.Errorf("the first lets go: %v", got.Err)
		}
		if got := r.outcome(second); got.Err != nil {
			t.Errorf("the second: %v", got.Err)
		}
		p.ExpectNothing(time.Second)
		r.forward("two", "resources/unsubscribe", uri)
		p.Expect("resources/unsubscribe")
	})
}

// A session's subscription intent is everything that the session wants, and may be sent again. It
// is granted when the server has answered all requests that it took.
func TestIntentIsInForceWhenTheServerHasAnswered(t *testing.T) {
	open := func(granted <-chan error) bool {
		select {
		case <-granted:
			return false
		default:
			return true
		}
	}
	run(t, nil, func(r *rig) {
		early := r.setIntent(client.SubscriptionIntent{Session: "two", Level: "error"})
		p := r.readyWithResources()
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		r.WaitIdle()
		if open(early) {
			t.Error("one from before the server was ready is not granted")
		}
		r.attach("one")
		intent := client.SubscriptionIntent{Session: "one", Level: "info", URIs: []string{"test://x"}}
		granted := r.setIntent(intent)
		level, uri := p.Expect("logging/setLevel"), p.Expect("resources/subscribe")
		p.Reply(level, `{}`)
		if r.WaitIdle(); !open(granted) {
			t.Error("granted before the server had answered for the resource")
		}
		p.Refuse(uri, -32002, "not there") // this is no error of the level
		r.WaitIdle()
		if err := <-granted; err != nil {
			t.Errorf("granted with %v", err)
		}
		if open(r.setIntent(intent)) {
			t.Error("the same again is not granted at once")
		}
		p.ExpectNothing(time.Second)
		refused := r.setIntent(client.SubscriptionIntent{Session: "one", Level: "debug"})
		p.Refuse(p.Expect("logging/setLevel"), -32602, "not that")
		r.WaitIdle()
		if err := <-refused; err == nil || !strings.Contains(err.Error(), "not that") {
			t.Errorf("refused: %v", err)
		}
	})
}

// A request for a subscription intent that the server did not answer before it forgot the session
// is sent in the next session. The intent waits for that answer and no other.
func TestIntentOutlivesTheSessionItWasAskedIn(t *testing.T) {
	for name, refused := range map[string]bool{"not answered": false, "not taken": true} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.readyWithResources()
				r.attach("one")
				granted := r.setIntent(client.SubscriptionIntent{Session: "one", Level: "info"})
				if level := p.Expect("logging/setLevel"); refused {
					forgetSession(p, level)
				} else {
					forgetSession(p)
				}
				p = r.readyWithResources()
				p.Reply(p.Expect("logging/setLevel"), `{}`)
				r.WaitIdle()
				select {
				case err := <-granted:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Error("not granted by the next session")
				}
			})
		})
	}
}

// A connection starts with what a session has asked for that has ended meanwhile. It gives that up
// once the session can no longer be attached anew.
func TestRestoredSessionThatHasEndedIsLetGoOf(t *testing.T) {
	gone := &client.AbandonedState{
		Sessions: map[string]otp.Ref{"gone": {}},
		URIs:     map[string]map[string]bool{"test://x": {"gone": true}},
		Levels:   map[string]string{"gone": "debug"},
	}
	account, keep := keeping(elicits, 10<<20)
	run(t, func(o *client.Options) { keep(o); o.Restore = gone }, func(r *rig) {
		p := r.readyWithResources()
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		time.Sleep(client.Reattach)
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		r.WaitIdle()
		if n := account.Holding().Kinds[quota.Subscriptions]; n != 0 {
			t.Errorf("%d bytes of subscriptions count in the end", n)
		}
	})
}

// A subscription belongs to no session if the server agrees to it after its client was told that it
// failed.
func TestSubscriptionThatIsAgreedTooLateIsNone(t *testing.T) {
	account, change := keeping(`{}`, 10<<20)
	run(t, change, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		x := r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		m := p.Expect("resources/subscribe")
		x.Settle(request.Outcome{Ending: request.TimedOut, Err: protocol.Timeout(time.Second)})
		p.Reply(m, `{}`)
		p.Expect("resources/unsubscribe")
		if r.WaitIdle(); account.Total() != 0 {
			t.Errorf("%d bytes of subscriptions are kept", account.Total())
		}
	})
}
