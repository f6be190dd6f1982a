package server_test

import (
	"fmt"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// crash makes the session's actor crash on a ping.
func (u *user) crash() {
	u.r.T.Helper()
	u.r.Break("server_sup/"+u.h.Row(), "*session.Deliver")
	if hit := u.ask("ping", ""); hit.Word() != int64(-32603) {
		u.r.T.Errorf("the one it crashed on: %v", hit.All())
	}
	u.r.Struck()
}

// S4-103, S4-61: a call continues over a crash of its session unchanged: it can be cancelled, and
// its server can ask.
func TestCallsBelongToTheSessionNotToItsActor(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		u.crash()
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
		sent := out.Sent()
		if len(sent) != 1 {
			r.T.Fatalf("asked %v, the server heard %v", sent, p.answers())
		}
		u.answer(sent[0].ID, `{"action":"accept"}`)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"accept"}` {
			t.Errorf("answered %v", got)
		}
		for range 2 { // the second has no effect
			u.tell("notifications/cancelled", `{"requestId":2}`)
		}
		if out.Word() != "cancelled" || len(p.heard("notifications/cancelled")) != 1 ||
			u.h.Calls().Len() != 0 {
			t.Errorf("got %v, the server heard %v, %d count", out.All(), p.heard("notifications/cancelled"),
				u.h.Calls().Len())
		}
	})
}

// A call that ends while its session has no actor does not count for ever.
func TestCallThatEndsWithoutAnActorIsForgotten(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		f := fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "top/server_sup/*", Kind: "*session.Deliver"},
			Count: 4, Lease: time.Minute,
		}
		if _, err := r.Faults.Arm(f); err != nil {
			r.T.Fatal(err)
		}
		for range 4 { // repeatedly, so that the session has no actor for a while
			u.ask("ping", "")
		}
		p.Close()
		if out.Word() == "none" || u.h.Calls().Len() != 0 {
			t.Errorf("got %v, %d count", out.All(), u.h.Calls().Len())
		}
	})
}

// A question that is open when the session's actor crashes is refused to its server and withdrawn
// from the client. A later answer of the client is dropped.
func TestQuestionEndsWithTheActor(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
		sent := out.Sent()
		u.crash()
		if got := p.answers(); len(got) != 1 || got[0].Error == nil {
			t.Errorf("answered %v, want a refusal", got)
		}
		if got := u.heard("notifications/cancelled"); len(got) != 1 ||
			string(got[0].Params) != `{"requestId":`+sent[0].ID.Raw()+`}` {
			t.Errorf("the client heard %v", got)
		}
		u.answer(sent[0].ID, `{"action":"accept"}`)
		if got := p.answers(); len(got) != 1 || out.Word() != "none" {
			t.Errorf("a late answer: the server heard %v, the call %v", got, out.All())
		}
	})
}

// A session that comes back after its servers have forgotten it gets its subscriptions and its log
// level again.
func TestSessionThatComesBackLateIsRestored(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		if out := u.ask("logging/setLevel", `{"level":"error"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		p := r.peer("files")
		top := r.Tree.Ref()
		if err := otp.TerminateChild(r.T.Context(), top, "server_sup"); err != nil {
			r.T.Fatal(err)
		}
		time.Sleep(2 * client.Reattach)
		if _, err := otp.RestartChild(r.T.Context(), top, "server_sup"); err != nil {
			r.T.Fatal(err)
		}
		if got := p.heard("resources/unsubscribe"); len(got) != 1 {
			r.T.Fatalf("the server was told %v", got)
		}
		u.ask("ping", "")
		if got := len(p.heard("resources/subscribe")); got != 2 {
			t.Errorf("subscribed %d times, want again", got)
		}
		if got := len(p.heard("logging/setLevel")); got != 2 {
			t.Errorf("told of the level %d times, want again", got)
		}
		p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		if got := u.heard("notifications/resources/updated"); len(got) != 1 {
			t.Errorf("heard %v", got)
		}
	})
}

// A subscription that the server refused is not requested again on the client's behalf.
func TestRefusedSubscriptionIsNotKept(t *testing.T) {
	run(t, func(r *rig) { delete(r.script["files"], "resources/subscribe") }, func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() == "result" {
			t.Fatal(out.All())
		}
		if got := u.h.Record().URIs; len(got) != 0 {
			t.Errorf("kept %v", got)
		}
	})
}

// An error from a server is passed on, and does not count as a rejection by the host.
func TestRefusalOfAServerIsNoRejection(t *testing.T) {
	for method, params := range map[string]string{
		"logging/setLevel": `{"level":"error"}`, "resources/subscribe": `{"uri":"test://x"}`,
	} {
		run(t, func(r *rig) { delete(r.script["files"], method) }, func(r *rig) {
			u := r.ready(`{}`)
			u.call()
			if out := u.ask(method, params); out.Word() != int64(-32601) {
				t.Errorf("%s: %v", method, out.All())
			}
			if told := testrig.Of[telemetry.Rejected](&r.Events); len(told) != 0 {
				t.Errorf("%s: the log says %+v", method, told)
			}
			if out := u.ask("logging/setLevel", `{"level":"loud"}`); out.Word() != int64(-32602) ||
				len(testrig.Of[telemetry.Rejected](&r.Events)) != 1 {
				t.Errorf("%s: a refusal of ours is %v", method, out.All())
			}
		})
	}
}

// S1-8: the subscriptions of a session to resources are bounded, and the client is told so.
func TestSubscriptionsAreBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.open("ci", "files")
		u.shake(`{}`)
		for n := range protocol.MaxSubscribedURIs {
			if out := u.ask("resources/subscribe",
				fmt.Sprintf(`{"uri":"test://%d"}`, n)); out.Word() != "result" {
				t.Fatalf("%d: %v", n, out.All())
			}
		}
		if out := u.ask("resources/subscribe", `{"uri":"test://more"}`); out.Word() != int64(-32602) {
			t.Errorf("one more: %v", out.All())
		}
		if out := u.ask("resources/subscribe", `{"uri":"test://1"}`); out.Word() != "result" {
			t.Errorf("one that it has: %v", out.All())
		}
		if out := u.ask("resources/unsubscribe", `{"uri":"test://1"}`); out.Word() != "result" {
			t.Errorf("let go: %v", out.All())
		}
		if out := u.ask("resources/subscribe", `{"uri":"test://more"}`); out.Word() != "result" {
			t.Errorf("after one was let go: %v", out.All())
		}
	})
}

// F01: a session crashes three times in a row while its client goes on, each time with an open
// question and always with a call in flight. Every question is withdrawn from the client and
// refused to its server, once. The call has its one outcome.
func TestThreeCrashesOfASession(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		for n := range uint64(3) {
			p.Ask(jsonrpc.IntID(1+n), "elicitation/create", `{"message":"name?"}`)
			r.WaitIdle()
			u.crash()
			if out := u.ask("ping", ""); out.Word() != "result" {
				t.Errorf("the next request: %v", out.All())
			}
		}
		asked, taken := out.Sent(), u.heard("notifications/cancelled")
		if len(asked) != 3 || len(taken) != 3 || len(p.answers()) != 3 {
			t.Fatalf("asked %v, took back %v, the server was answered %v", asked, taken, p.answers())
		}
		for n, a := range p.answers() {
			if a.Error == nil || a.ID != jsonrpc.IntID(uint64(1+n)) ||
				string(taken[n].Params) != `{"requestId":`+asked[n].ID.Raw()+`}` {
				t.Errorf("answered %v, took back %s of %v", a, taken[n].Params, asked[n].ID)
			}
		}
		p.answer("tools/call", `{"content":[]}`)
		if out.Word() != "result" || len(out.All()) != 1 || len(p.heard("tools/call")) != 1 ||
			u.h.Calls().Len() != 0 {
			t.Errorf("got %v, the server heard %v, %d count", out.All(), p.heard("tools/call"),
				u.h.Calls().Len())
		}
	})
}

// The client sends notifications/initialized only once. A session that crashes on it lasts like any
// other, and a session that crashed before accepts it.
func TestConfirmationThatCrashesItsSession(t *testing.T) {
	for name, tell := range map[string]func(*rig, *user){
		"of it": func(r *rig, u *user) {
			r.Break("server_sup/*", "*session.Deliver")
			u.tell("notifications/initialized", "")
			r.Struck()
		},
		"before it": func(_ *rig, u *user) { u.crash(); u.tell("notifications/initialized", "") },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				u := r.open("ci", "")
				if out := u.ask("initialize", greeting("2025-11-25", `{}`)); out.Word() != "result" {
					t.Fatal(out.All())
				}
				tell(r, u)
				time.Sleep(2 * time.Minute)
				r.WaitIdle()
				if _, there := r.index.Get(u.h.ID()); !there {
					t.Fatal("it is gone")
				}
				if out := u.ask("tools/list", ""); out.Word() != "result" {
					t.Errorf("the next request: %v", out.All())
				}
			})
		})
	}
}

// A connection that crashes while it is told of a session still gets to know of it, and releases
// the session's subscriptions when that ends.
func TestCrashOfAnAttachmentIsMadeGood(t *testing.T) {
	for _, crashes := range []int{0, 1, 2} {
		run(t, func(r *rig) { r.script["files"]["resources/subscribe"] = result(`{}`) }, func(r *rig) {
			other := r.ready(`{}`)
			other.call()
			for range crashes {
				r.Break("client_sup/files/*", "*otp.Call[mcpd/actors/client.AttachRequest,struct {}]")
			}
			u := r.open("alice", "")
			u.shake(`{}`)
			if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
				t.Fatalf("got %v", out.All())
			}
			if err := u.h.Close(r.T.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * client.Reattach)
			if got := r.latest("files").heard("resources/unsubscribe"); len(got) != 1 {
				t.Errorf("%d crashes: the server heard %v", crashes, got)
			}
		})
	}
}
