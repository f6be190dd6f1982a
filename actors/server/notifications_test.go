package server_test

import (
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/internal/fault"
)

// S1-14, S2-5: notifications of servers reach the clients that asked for them, filtered by what
// each wants.
func TestAnnouncementsReachClients(t *testing.T) {
	run(t, nil, func(r *rig) {
		loud, quiet := r.ready(`{}`), r.ready(`{}`)
		loud.call()
		p := r.peer("files")
		if out := quiet.ask("logging/setLevel", `{"level":"error"}`); out.Word() != "result" {
			t.Errorf("level: %v", out.All())
		}
		for _, bad := range []string{`{"level":"loud"}`, `{}`} {
			if out := quiet.ask("logging/setLevel", bad); out.Word() != int64(-32602) {
				t.Errorf("level %s: %v", bad, out.All())
			}
		}
		p.Notify("notifications/message", `{"level":"info","data":"x"}`)
		p.Notify("notifications/message", `{"level":"critical","data":"y"}`)
		if got := len(loud.heard("notifications/message")); got != 2 {
			t.Errorf("who wants all heard %d", got)
		}
		if got := quiet.heard("notifications/message"); len(got) != 1 ||
			string(got[0].Params) != `{"level":"critical","data":"y"}` {
			t.Errorf("who wants errors heard %v", got)
		}
	})
}

// S1-8, S2-22: updates of a resource reach the clients that subscribed to it, or to a resource
// above it, and no others.
func TestUpdatesReachSubscribers(t *testing.T) {
	run(t, nil, func(r *rig) {
		u, other := r.ready(`{}`), r.ready(`{}`)
		if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		p := r.peer("files")
		for _, uri := range []string{"test://x", "test://x/below", "test://xy", "test://z"} {
			p.Notify("notifications/resources/updated", `{"uri":"`+uri+`"}`)
		}
		if got := u.heard("notifications/resources/updated"); len(got) != 2 {
			t.Errorf("heard %v", got)
		}
		if got := other.heard("notifications/resources/updated"); len(got) != 0 {
			t.Errorf("the other heard %v", got)
		}
		if out := u.ask("resources/unsubscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Error(out.All())
		}
		p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		if got := u.heard("notifications/resources/updated"); len(got) != 2 {
			t.Errorf("afterwards: heard %v", got)
		}
	})
}

// S4-103: after a crash of its actor a session still gets the notifications that it subscribed to,
// at its log level, without asking again.
func TestSubscriptionsOutliveTheActor(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		if out := u.ask("logging/setLevel", `{"level":"error"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		p := r.peer("files")
		r.Break("server_sup/*", "*session.Deliver")
		u.ask("ping", "")
		r.Struck()
		time.Sleep(time.Minute)
		p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		p.Notify("notifications/message", `{"level":"info","data":"x"}`)
		p.Notify("notifications/message", `{"level":"error","data":"x"}`)
		if got := u.heard(""); len(got) != 2 || got[0].Method != "notifications/resources/updated" {
			t.Errorf("heard %v", got)
		}
		if got := p.heard("resources/unsubscribe"); len(got) != 0 {
			t.Errorf("the server was told %v", got)
		}
	})
}

// When a server restarts, the subscriptions to it are renewed, and possible changes are reported.
func TestSubscriptionsOutliveTheServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		r.peer("files").Close()
		next := r.peer("files")
		if got := u.heard("notifications/resources/updated"); len(got) != 1 {
			t.Errorf("after its restart heard %v", got)
		}
		next.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		if got := u.heard("notifications/resources/updated"); len(got) != 2 {
			t.Errorf("heard %v", got)
		}
	})
}

// S1-9: a changed list is announced once to the clients that see it.
func TestChangedListReachesClients(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		u.ask("tools/list", "")
		r.script["files"]["tools/list"] = result(
			`{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"write","inputSchema":{"type":"object"}}]}`,
		)
		p := r.peer("files")
		p.Notify("notifications/tools/list_changed", "")
		r.announced()
		if got := u.heard("notifications/tools/list_changed"); len(got) != 1 {
			t.Errorf("heard %v", u.heard(""))
		}
		var out *testrig.Sink
		if out = u.ask("tools/call", `{"name":"files__write"}`); out.Word() != "result" {
			t.Errorf("the new tool: %v", out.All())
		}
	})
}

// If the dispatcher has dropped its registrations, because it crashed on them repeatedly, all
// sessions register again.
func TestSessionsRegisterWithADispatcherThatForgot(t *testing.T) {
	run(t, nil, func(r *rig) {
		early, late := r.ready(`{}`), r.ready(`{}`)
		early.call()
		p := r.peer("files")
		f := fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "top/notices", Kind: "notification.drain"},
			Count: 4, Lease: time.Minute,
		}
		if _, err := r.Faults.Arm(f); err != nil {
			t.Fatal(err)
		}
		p.Notify("notifications/message", `{"level":"critical","data":"poison"}`)
		r.Struck()
		p.Notify("notifications/message", `{"level":"critical","data":"y"}`)
		for name, u := range map[string]*user{"who has called": early, "who has not": late} {
			if got := u.heard("notifications/message"); len(got) != 1 ||
				string(got[0].Params) != `{"level":"critical","data":"y"}` {
				t.Errorf("%s heard %v", name, got)
			}
		}
	})
}
