package catalog_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// Subscriptions are charged to the tenant while their server is paused, even if the catalogue
// crashes. They are not when the server runs again, or when no session wants them any more.
func TestWhatConnectionsLeaveCounts(t *testing.T) {
	for name, ends := range map[string]func(r *rig){
		"it runs again": func(*rig) { time.Sleep(time.Minute) },
		"another declaration": func(r *rig) {
			r.reload(func(servers []tenant.Server) []tenant.Server {
				servers[1].Command = tenant.NewSecret("other")
				return servers
			})
		},
		"it is removed": func(r *rig) {
			r.reload(func(servers []tenant.Server) []tenant.Server { return servers[:1] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				counts := func() int64 {
					r.WaitIdle()
					return r.kept.Account("acme").Holding().Kinds[quota.Restorable]
				}
				r.ready()
				key := tenant.NewKey(tenant.ByPrincipal, "ci", "", 0)
				unready := &transport.ExitError{Cause: stdio.CauseUnready, Code: -1}
				r.reports(search, report{state: client.Backoff, cause: unready, over: true})
				r.Send("client_sup/"+search+"/connection", otp.ShutdownWith(client.EndingOf(unready)))
				for n := range 3 { // each replaces the one before
					r.Send("catalog", &client.AbandonedState{
						Server: "search", Key: key, Bytes: 1000 * (n + 1),
						Sessions: map[string]otp.Ref{"s-ci": r.Ref("session")},
						URIs:     map[string]map[string]bool{"x:y": {"s-ci": true}},
					})
					if want := int64(1000 * (n + 1)); counts() != want {
						t.Fatalf("%d bytes count, want %d", counts(), want)
					}
				}
				r.Break("catalog", "")
				<-r.looks(r.caller("ci", ""))
				r.Struck()
				if counts() != 3000 {
					t.Errorf("%d bytes count after a crash", counts())
				}
				if ends(r); counts() != 0 {
					t.Errorf("%d bytes count in the end", counts())
				}
			})
		})
	}
}

// A restarted connection is told of all sessions that had subscriptions, including those that have
// ended since. Otherwise it would never release a subscription whose session it does not know.
func TestWhatIsRestoredIsSomebodys(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		unready := &transport.ExitError{Cause: stdio.CauseUnready, Code: -1}
		r.reports(search, report{state: client.Backoff, cause: unready, over: true})
		r.Send("client_sup/"+search+"/connection", otp.ShutdownWith(client.EndingOf(unready)))
		r.Send("catalog", &client.AbandonedState{
			Server: "search", Key: tenant.NewKey(tenant.ByPrincipal, "ci", "", 0), Bytes: 1000,
			Sessions: map[string]otp.Ref{"s-ci": r.Ref("session"), "gone": {}},
			URIs:     map[string]map[string]bool{"x:y": {"s-ci": true, "gone": true}, "x:z": {"gone": true}},
			Levels:   map[string]string{"gone": "debug", "s-ci": "info"},
		})
		time.Sleep(time.Minute)
		r.WaitIdle()
		abandoned := r.restored.Load()
		for uri, who := range abandoned.URIs {
			for row := range who {
				if _, known := abandoned.Sessions[row]; !known {
					t.Errorf("%s is of %s, which is no session of %v", uri, row, abandoned.Sessions)
				}
			}
		}
		for row, level := range abandoned.Levels {
			if _, known := abandoned.Sessions[row]; !known {
				t.Errorf("level %s is of %s, which is no session of %v", level, row, abandoned.Sessions)
			}
		}
		if len(abandoned.URIs) != 2 {
			t.Errorf("%d resources are restored, want 2", len(abandoned.URIs))
		}
	})
}
