package session_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/session"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// Sessions of several tenants end in one batch, and ending those of one crashes the manager each time.
// All others end, the crashes are charged to that tenant, and the manager is not paused for them.
func TestBatchThatCrashesIsChargedToOneTenant(t *testing.T) {
	const each = 10
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards what follows
		charged, paused, closed := map[string]int{}, 0, map[string]int{}
		system := otp.NewSystem(otp.Options{Events: func(e otp.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case otp.CrashCharged:
				charged[e.Origin]++
			case otp.ChildPaused:
				paused++
			}
		}})
		defer func() { system.Close(); time.Sleep(time.Second) }() // what lives a moment longer has that moment
		index := session.NewIndex(nil)
		o := session.Options{
			Clock: clock.System, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}), Total: func() int { return 100 },
			Pool:  func(tenant string) (otp.Ref, bool) { return system.Whereis("top/" + tenant) },
			Limit: func(string) int { return 100 }, Idle: func(string) time.Duration { return time.Minute },
			Emit: func(e telemetry.Event) {
				mu.Lock()
				defer mu.Unlock()
				if c, ok := e.(telemetry.SessionClosed); ok {
					if closed[c.Tenant]++; c.Tenant == "acme" {
						panic("crash")
					}
				}
			},
		}
		pool := func(tenant string) otp.Child {
			return otp.Child{ID: tenant, Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{{
				Restart: otp.Temporary, Start: otp.WorkerWith(func(args any) otp.Behaviour { return brief{h: args.(session.Args).Handle} }),
			}}})}
		}
		tree, err := system.Start(t.Context(), "top", otp.Spec{
			Intensity: otp.Intensity{Restarts: 5, Within: 10 * time.Second}, Backoff: otp.Backoff{First: time.Second, Max: time.Minute, Stable: time.Minute},
			Children: []otp.Child{
				{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return session.New(o, index) })}, pool("acme"), pool("globex"),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tree.Shutdown(context.Background()) }()
		manager, _ := system.Whereis("top/manager")
		for range each {
			for _, tenant := range []string{"acme", "globex"} {
				q := session.OpenRequest{Endpoint: streamable.Endpoint{Tenant: tenant}}
				h, err := otp.Do[session.OpenRequest, *session.Handle](t.Context(), manager, q)
				if err != nil {
					t.Fatal(err)
				}
				h.Store(&session.Record{Version: protocol.V20251125})
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if closed["acme"] != each || closed["globex"] != each || index.Len() != 0 {
			t.Errorf("ended: %v, and %d are left", closed, index.Len())
		}
		if charged["acme"] != each || len(charged) != 1 || paused != 0 {
			t.Errorf("charged: %v, paused %d times", charged, paused)
		}
	})
}
