package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// reload changes the tenant's servers and tells the catalogue.
func (r *rig) reload(change func(servers []tenant.Server) []tenant.Server) {
	r.T.Helper()
	r.tenant.Servers = change(slices.Clone(r.tenant.Servers))
	if _, err := testrig.Ask[catalog.ReloadRequest, struct{}](r.Rig, "catalog",
		catalog.ReloadRequest{}); err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
}

// rewrite gives files other arguments.
func rewrite(servers []tenant.Server) []tenant.Server {
	servers[0].Args = append(slices.Clone(servers[0].Args), tenant.NewSecret("more"))
	return servers
}

// without removes files.
func without(servers []tenant.Server) []tenant.Server { return servers[1:] }

// unused reports a connection of files as unused.
func (r *rig) unused(ref otp.Ref, revision uint32) {
	r.T.Helper()
	r.Send("catalog", &client.Unused{
		Server: "files", Key: tenant.Key{Share: tenant.ByTenant, Revision: revision}, From: ref,
	})
}

func (r *rig) mustConnect(server string) otp.Ref {
	r.T.Helper()
	ref, err := r.connects(r.caller("ci", ""), server)
	if err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
	return ref
}

// A server with a changed declaration gets new connections, and its old one ends when it is unused.
// The other server is not affected. Clients see the old lists until there are new ones, and are
// told once.
func TestChangedServerGetsAnotherConnection(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		old, beside := r.mustConnect("files"), r.mustConnect("search")
		r.dispatcher.Forget()
		r.reload(rewrite)
		if !slices.Equal(r.retired, []otp.Ref{old}) {
			t.Errorf("told to end: %v, want %v", r.retired, old)
		}
		start := time.Now()
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Missing) != 0 || v.at != start ||
			!strings.Contains(listed(v, merge.Tools), "read") {
			t.Errorf("while it starts: %+v, %v after %v", v.View, v.err, v.at.Sub(start))
		}
		now := r.mustConnect("files")
		if now == old || !old.Alive() {
			t.Errorf("connection %v, and %v runs: %v", now, old, old.Alive())
		}
		if same := r.mustConnect("search"); same != beside || !beside.Alive() {
			t.Errorf("the other server's connection is %v, was %v", same, beside)
		}
		r.Send(under(old), report{state: client.Ready, tools: []string{"late"}}) // an outdated report
		r.Send(under(now), report{state: client.Ready, tools: []string{"read", "write"}})
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 1 ||
			got[0].Method != "notifications/tools/list_changed" {
			t.Errorf("announced %v", got)
		}
		r.unused(old, 0)
		if old.Alive() || !now.Alive() {
			t.Errorf("the old connection runs: %v, the new: %v", old.Alive(), now.Alive())
		}
		if got := r.record("files"); got.State != client.Ready || got.Open != 1 {
			t.Errorf("record: %+v", got)
		}
	})
}

func listed(v view, k merge.Kind) string {
	var all strings.Builder
	for _, item := range v.List(k).Items() {
		all.Write(item)
	}
	return all.String()
}

// under is the path of a row below "top".
func under(ref otp.Ref) string { return strings.TrimPrefix(ref.Path(), "top/") }

// A change that does not concern connections replaces none.
func TestOtherChangesReplaceNothing(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		old := r.mustConnect("files")
		r.reload(func(servers []tenant.Server) []tenant.Server {
			servers[0].Require = map[string]string{"tools/call": "sampling"}
			return servers
		})
		if now := r.mustConnect("files"); now != old || len(r.retired) != 0 {
			t.Errorf("connection %v, was %v", now, old)
		}
	})
}

// A removed server is refused at once and not shown. It ends when its calls have ended, and can be
// configured again at any time.
func TestRemovedServerEndsWhenItIsNotUsed(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		old := r.mustConnect("files")
		r.reload(without)
		if _, err := r.connects(r.caller("ci", ""),
			"files"); protocol.ConditionOf(err) != protocol.ConditionOf(protocol.EndpointNotFound()) {
			t.Errorf("connect: %v", err)
		}
		if v := <-r.looks(r.caller("ci", "files")); v.err == nil {
			t.Error("its own endpoint has a list")
		}
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Servers) != 1 ||
			strings.Contains(listed(v, merge.Tools), "read") {
			t.Errorf("view: %+v, %v", v.View, v.err)
		}
		if !old.Alive() {
			t.Error("a connection that may have calls was ended")
		}
		r.unused(old, 0)
		if ref, ok := r.System.Whereis("top/client_sup/files"); ok && ref.Alive() {
			t.Error("its supervisor runs")
		}
		r.reload(func(servers []tenant.Server) []tenant.Server {
			return append(servers, tenant.Server{
				Name: "files", Command: tenant.NewSecret("files"), Share: tenant.ByTenant,
				Intensity: tenant.Intensity{Restarts: 2, Within: time.Minute},
			})
		})
		time.Sleep(catalog.EarlyBoot)
		if now := r.mustConnect("files"); !now.Alive() {
			t.Error("it did not come back")
		}
		if got := r.record("files"); got.Open != 1 {
			t.Errorf("record: %+v", got)
		}
	})
}

// A server that is configured again before it has ended gets new connections.
func TestServerThatComesBackAtOnce(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		old := r.mustConnect("files")
		before := r.tenant.Servers
		r.reload(without)
		r.reload(func([]tenant.Server) []tenant.Server { return before })
		now := r.mustConnect("files")
		if now == old {
			t.Error("it got the connection that is told to end")
		}
		r.unused(old, 0)
		if old.Alive() || !now.Alive() {
			t.Errorf("the old connection runs: %v, the new: %v", old.Alive(), now.Alive())
		}
	})
}

// A caller that waits for a connection while its server's declaration changes gets a new
// connection. If the server is removed, the caller is told so.
func TestWhoWaitsGetsTheNewConnection(t *testing.T) {
	for _, label := range []string{"changed", "removed"} {
		t.Run(label, func(t *testing.T) {
			run(t, func(r *rig) {
				r.gate = make(chan struct{})
				answer := make(chan error, 1)
				var got otp.Ref
				go func() { // it ends with its answer
					var err error
					got, err = r.connects(r.caller("ci", ""), "files")
					answer <- err
				}()
				r.WaitIdle()
				change := map[string]func([]tenant.Server) []tenant.Server{"changed": rewrite,
					"removed": without}[label]
				r.reload(change)
				close(r.gate)
				if err := <-answer; (err != nil) != (label == "removed") {
					t.Errorf("the answer is %v, %v", got, err)
				}
				if label == "changed" && !strings.Contains(got.Path(), "revision=") && len(r.retired) == 0 {
					t.Errorf("%v is as it was declared before, and goes on for ever", got)
				}
			})
		})
	}
}

// A connection that does not end is terminated when no call can last any longer.
func TestConnectionThatStaysTooLongIsEnded(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		old := r.mustConnect("files")
		r.reload(rewrite)
		time.Sleep(r.tenant.Limits.CallTimeoutMax - time.Second)
		r.WaitIdle()
		if !old.Alive() {
			t.Error("it was ended while a call may last")
		}
		time.Sleep(2 * time.Second)
		r.WaitIdle()
		if old.Alive() {
			t.Error("it runs for ever")
		}
	})
}

// A crash during a reload loses no part of it. The next incarnation reads the configuration too,
// and tells the connections again.
func TestReloadOutlivesACrash(t *testing.T) {
	for _, label := range []string{"changed", "removed"} {
		t.Run(label, func(t *testing.T) {
			run(t, func(r *rig) {
				r.ready()
				old := r.mustConnect("files")
				change := map[string]func([]tenant.Server) []tenant.Server{"changed": rewrite,
					"removed": without}[label]
				r.tenant.Servers = change(slices.Clone(r.tenant.Servers))
				r.Break("catalog", "")
				if _, err := testrig.Ask[catalog.ReloadRequest, struct{}](r.Rig, "catalog",
					catalog.ReloadRequest{}); err == nil {
					t.Error("the message that crashed it was answered")
				}
				r.Struck()
				if !slices.Contains(r.retired, old) {
					t.Errorf("told to end: %v", r.retired)
				}
				r.Break("catalog", "*client.Unused")
				r.unused(old, 0)
				r.Struck()
				if len(r.retired) < 2 {
					t.Error("the connection was not told again")
				}
				r.unused(old, 0)
				if old.Alive() {
					t.Error("the old connection runs")
				}
				if _, err := r.connects(r.caller("ci", ""), "files"); (err != nil) != (label == "removed") {
					t.Error(err)
				}
			})
		})
	}
}

// A server in a crash loop is started at once when its declaration changes.
func TestChangeEndsACrashLoop(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.fails(files, errDisk)
		if got := r.record("files"); got.State != client.CrashLoop {
			t.Fatalf("record: %+v", got)
		}
		start := time.Now()
		r.reload(rewrite)
		if now := r.mustConnect("files"); !now.Alive() || time.Since(start) > 100*time.Millisecond {
			t.Errorf("connection %v after %v", now, time.Since(start))
		}
	})
}

// If another program takes the place of a server and lists nothing, the old list is shown no longer
// than a list request may take, even if the catalogue crashes meanwhile.
func TestListOfAnotherProgramIsForgotten(t *testing.T) {
	for _, crash := range []bool{false, true} {
		run(t, func(r *rig) {
			r.ready()
			r.mustConnect("files")
			r.reload(rewrite)
			r.dispatcher.Forget()
			time.Sleep(5 * time.Second)
			if crash {
				r.Break("catalog", "")
				<-r.looks(r.caller("ci", ""))
				r.Struck()
			}
			if v := <-r.looks(r.caller("ci", "")); v.err != nil ||
				!strings.Contains(listed(v, merge.Tools), "read") {
				t.Errorf("while it may start: %+v, %v", v.View, v.err)
			}
			time.Sleep(6 * time.Second)
			r.WaitIdle()
			alone, all := r.announced()
			if want := []string{"notifications/tools/list_changed"}; !slices.Equal(alone, want) ||
				!slices.Equal(all, want) {
				t.Errorf("announced %v, and of all servers %v", alone, all)
			}
			start := time.Now()
			v := <-r.looks(r.caller("ci", ""))
			if v.err != nil || !slices.Equal(v.Missing, []string{"files"}) ||
				strings.Contains(listed(v, merge.Tools), "read") || v.at != start {
				t.Errorf("later: %+v, %v after %v", v.View, v.err, v.at.Sub(start))
			}
			if got := r.record("files"); got.Tools != 0 {
				t.Errorf("record: %+v", got)
			}
		})
	}
}

// The same program with other settings keeps its list.
func TestListOfTheSameProgramStays(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.mustConnect("files")
		r.reload(func(servers []tenant.Server) []tenant.Server {
			servers[0].Env = map[string]tenant.Secret{"V": tenant.NewSecret("2")}
			return servers
		})
		time.Sleep(time.Minute)
		if v := <-r.looks(r.caller("ci", "")); v.err != nil ||
			!strings.Contains(listed(v, merge.Tools), "read") {
			t.Errorf("later: %+v, %v", v.View, v.err)
		}
	})
}
