package catalog_test

import (
	"slices"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
)

// After a crash the lists are served as before, connections stay, and only the message that caused
// the crash is lost.
func TestCatalogOutlivesItsCrash(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		before, err := r.connects(r.caller("ci", ""), "files")
		if err != nil {
			r.T.Fatal(err)
		}
		r.WaitIdle()
		r.Break("catalog", "")
		if v := <-r.looks(r.caller("ci", "")); v.err == nil {
			t.Error("the list that crashed it was answered")
		}
		r.Struck()
		start := time.Now()
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Servers) != 2 || v.at != start {
			t.Errorf("view: %+v, %v", v.View, v.err)
		}
		if after, err := r.connects(r.caller("ci", ""), "files"); err != nil || after != before {
			t.Errorf("connection %v, %v, want the one there was", after, err)
		}
		if got := r.record("files"); got.State != client.Ready || got.Open != 1 {
			t.Errorf("record: %+v", got)
		}
		// it still monitors connections
		r.Send("client_sup/"+files+"/connection", otp.Normal)
		if got := r.record("files"); got.Open != 0 || got.State != client.Stopped {
			t.Errorf("after the connection's end: %+v", got)
		}
	})
}

// A caller that waits for a first list, or for a connection, gets it after a crash.
func TestWaitingOutlivesACrash(t *testing.T) {
	for _, kind := range []string{"catalog.opened", "catalog.overdue", "*client.Report",
		"catalog.boot"} {
		t.Run(kind, func(t *testing.T) {
			run(t, func(r *rig) {
				r.Break("catalog", kind)
				if kind == "catalog.boot" { // which the catalogue sends itself when it starts
					r.Break("catalog", "struct {}")
					_ = r.Ref("catalog").Send(struct{}{})
				}
				answer := r.looks(r.caller("ci", ""))
				r.reports(files, report{state: client.Ready, tools: []string{"read"}})
				if kind == "catalog.overdue" {
					time.Sleep(10 * time.Second)
					r.Struck()
					if v := <-answer; v.err != nil || len(v.Servers) != 1 {
						t.Errorf("view: %+v, %v", v.View, v.err)
					}
					return
				}
				r.reports(search, report{state: client.Ready, tools: []string{"find"}})
				r.Struck()
				if v := <-answer; v.err != nil || len(v.Servers) != 2 {
					t.Errorf("view: %+v, %v", v.View, v.err)
				}
				if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A report that crashes the catalogue is not lost: the next incarnation asks for it again.
func TestReportThatIsLostIsAskedForAgain(t *testing.T) {
	run(t, func(r *rig) {
		answer := r.looks(r.caller("ci", ""))
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		r.Break("catalog", "*client.Report")
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		r.Struck()
		if v := <-answer; v.err != nil || len(v.Servers) != 2 {
			t.Errorf("view: %+v, %v", v.View, v.err)
		}
		if got := r.record("files"); got.State != client.Ready {
			t.Errorf("record: %+v", got)
		}
	})
}

// A session that is arriving at a connection keeps the connection open only until the connection
// has confirmed it, even if the connection crashed on the session at first.
func TestSessionThatDidNotArriveKeepsNoConnection(t *testing.T) {
	const attach = "*otp.Call[mcpd/actors/client.AttachRequest,struct {}]"
	run(t, func(r *rig) {
		r.ready()
		r.Break("client_sup/"+files+"/connection", attach)
		ref, err := r.connects(r.caller("ci", ""), "files")
		if err != nil {
			r.T.Fatal(err)
		}
		r.Struck()
		r.Send("catalog", &client.Unused{
			Server: "files", Key: tenant.Key{Share: tenant.ByTenant}, From: ref,
		})
		if got := r.record("files").Open; got != 0 {
			t.Errorf("%d connections, want none", got)
		}
	})
	run(t, func(r *rig) {
		r.ready()
		r.late = true
		ref, err := r.connects(r.caller("ci", ""), "files")
		if err != nil {
			r.T.Fatal(err)
		}
		unused := &client.Unused{Server: "files", Key: tenant.Key{Share: tenant.ByTenant}, From: ref}
		r.Send("catalog", unused)
		if got := r.record("files").Open; got != 1 {
			t.Errorf("%d connections, want the one that a session is on its way to", got)
		}
		r.attaches[0].Reply(struct{}{})
		r.WaitIdle()
		r.Send("catalog", unused)
		if got := r.record("files").Open; got != 0 {
			t.Errorf("%d connections when it has been there, want none", got)
		}
	})
}

// A connection that crashed on a session is told of it again, even if the catalogue crashes on its
// answer or misses it. Otherwise the connection would never be told that the session ends.
func TestSessionArrivesWhereBothEndsCrash(t *testing.T) {
	const attach = "*otp.Call[mcpd/actors/client.AttachRequest,struct {}]"
	arrives := func(t *testing.T, r *rig, connect func()) {
		r.ready()
		r.attached = nil
		connect()
		r.Struck()
		if !slices.Contains(r.attached, "s-ci") {
			t.Errorf("the connection knows of %q", r.attached)
		}
		key := tenant.Key{Share: tenant.ByTenant}
		r.Send("catalog", &client.Unused{
			Server: "files", Key: key, From: r.Ref("client_sup/" + files + "/connection"),
		})
		if got := r.record("files").Open; got != 0 {
			t.Errorf("%d connections when it has been there, want none", got)
		}
	}
	run(t, func(r *rig) {
		arrives(t, r, func() {
			r.Break("client_sup/"+files+"/connection", attach)
			r.Break("catalog", "catalog.arrived")
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				r.T.Fatal(err)
			}
			r.WaitIdle()
		})
	})
	run(t, func(r *rig) {
		arrives(t, r, func() {
			r.late = true
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				r.T.Fatal(err)
			}
			r.WaitIdle()
			r.late = false
			r.Break("catalog", "*client.Unused")
			r.Send("catalog", &client.Unused{Server: "files"})
			r.attaches[0].Fail(otp.ErrNoProc) // as if the connection had crashed on it
			r.WaitIdle()
		})
	})
}

// A connection that reports that it is unused is ended, unless a session is arriving. Sessions of a
// connection that was given up get another one, with their subscriptions.
func TestConnectionsComeAndGo(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.late = true
		ref, err := r.connects(r.caller("ci", ""), "files")
		if err != nil {
			r.T.Fatal(err)
		}
		r.WaitIdle()
		key := tenant.Key{Share: tenant.ByTenant}
		r.Send("catalog", &client.Unused{Server: "files", Key: key, From: ref})
		if got := r.record("files").Open; got != 1 {
			t.Errorf("somebody was on the way: %d connections", got)
		}
		for _, m := range r.attaches {
			m.Reply(struct{}{})
		}
		r.Send("catalog", &client.Unused{Server: "files", Key: key, From: ref})
		if got := r.record("files"); got.Open != 0 || got.State != client.Stopped {
			t.Errorf("nobody uses it: %+v", got)
		}
		r.Send("catalog", &client.Unused{Server: "nothing", Key: key, From: ref})

		r.Send("catalog", &client.AbandonedState{
			Server: "files", Key: key, Sessions: map[string]otp.Ref{"s-ci": r.Ref("session")},
		})
		if got := r.record("files").Open; got != 1 {
			t.Errorf("what a session had used: %d connections", got)
		}
		r.Send("client_sup/"+files+"/connection", otp.Normal)
		r.Send("catalog", &client.AbandonedState{
			Server: "files", Key: key, Sessions: map[string]otp.Ref{"s-ci": {}},
		})
		if got := r.record("files").Open; got != 0 {
			t.Errorf("what a session had used that is gone: %d connections", got)
		}
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 0 {
			t.Errorf("announced %v", got)
		}
	})
}

// A connection that dropped its carried state and goes on gets back the state that it left with the
// catalogue.
func TestConnectionThatGoesOnGetsBackWhatItLeft(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		abandoned := &client.AbandonedState{
			Server: "files", Key: tenant.Key{Share: tenant.ByTenant},
			Sessions: map[string]otp.Ref{"s-ci": r.Ref("session")},
		}
		r.Send("catalog", abandoned)
		if len(r.regained) != 1 || r.regained[0] != abandoned || r.record("files").Open != 1 {
			t.Errorf("got back %v", r.regained)
		}
	})
}

// A connection that takes no message about sessions is told of one once.
func TestConnectionThatTakesNoSessionsIsToldOnce(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.unaware = true
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Fatal(err)
		}
		if r.WaitIdle(); len(r.attaches) != 1 {
			t.Errorf("told %d times, want once", len(r.attaches))
		}
	})
}
