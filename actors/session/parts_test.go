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

// Sessions of several tenants end in one batch, and ending those of one tenant crashes the manager
// each time. All others end. The crashes are charged to that tenant, and the manager is not paused
// for them.
func TestBatchThatCrashesIsChargedToOneTenant(t *testing.T) {
	const each = 10
	runBatch(t, func(b *batch) {
		for range each {
			b.open("acme")
			b.open("globex")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.closed["acme"] != each || b.closed["globex"] != each || b.index.Len() != 0 {
			t.Errorf("ended: %v, and %d are left", b.closed, b.index.Len())
		}
		if b.charged["acme"] != each || len(b.charged) != 1 || b.paused != 0 {
			t.Errorf("charged: %v, paused %d times", b.charged, b.paused)
		}
	})
}

// While a tenant is on hold, because its messages have crashed the manager too often, the sessions
// of others end at once, however many of the held tenant's wait. The manager is idle meanwhile. The
// waiting sessions end later.
func TestEndsOfATenantThatIsHeldDelayNobody(t *testing.T) {
	const each = otp.MaxChargedCrashes + 70 // more than a batch are left when the tenant is held
	runBatch(t, func(b *batch) {
		var all []*session.Handle
		for range each {
			all = append(all, b.open("acme"))
		}
		other := b.open("globex")
		for _, h := range all {
			h.End(telemetry.ClosedNormally)
		}
		synctest.Wait() // it never returns if the manager is busy
		if remaining := b.index.Tenant("acme"); remaining == 0 || remaining == each {
			t.Fatalf("%d of %d are left", remaining, each)
		}
		other.End(telemetry.ClosedNormally)
		synctest.Wait()
		if remaining := b.index.Tenant("globex"); remaining != 0 {
			t.Error("the session of another tenant has not ended")
		}
		time.Sleep(24 * time.Hour) // each time the hold ends, one session crashes the manager
		synctest.Wait()
		if remaining := b.index.Len(); remaining != 0 {
			t.Errorf("%d are left in the end", remaining)
		}
	})
}

// batch is a manager of sessions that last a minute. Closing a session of acme crashes the manager.
type batch struct {
	t       *testing.T
	index   *session.Index
	manager otp.Ref

	mu              sync.Mutex // guards the fields below
	charged, closed map[string]int
	paused          int
}

func (b *batch) open(tenant string) *session.Handle {
	b.t.Helper()
	q := session.OpenRequest{Endpoint: streamable.Endpoint{Tenant: tenant}}
	h, err := otp.Do[session.OpenRequest, *session.Handle](b.t.Context(), b.manager, q)
	if err != nil {
		b.t.Fatal(err)
	}
	h.Store(&session.Record{Version: protocol.V20251125})
	return h
}

func runBatch(t *testing.T, test func(b *batch)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &batch{
			t: t, index: session.NewIndex(nil), charged: map[string]int{}, closed: map[string]int{},
		}
		system := otp.NewSystem(otp.Options{Events: func(e otp.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			switch e := e.(type) {
			case otp.CrashCharged:
				b.charged[e.Origin]++
			case otp.ChildPaused:
				b.paused++
			}
		}})
		// gives the remaining goroutines time to end
		defer func() { system.Close(); time.Sleep(time.Second) }()
		o := session.Options{
			Clock: clock.System, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}),
			Total: func() int {
				return 1000
			},
			Pool:  func(tenant string) (otp.Ref, bool) { return system.Whereis("top/" + tenant) },
			Limit: func(string) int { return 1000 }, Idle: func(string) time.Duration { return time.Minute },
			Emit: func(e telemetry.Event) {
				b.mu.Lock()
				defer b.mu.Unlock()
				if c, ok := e.(telemetry.SessionClosed); ok {
					if b.closed[c.Tenant]++; c.Tenant == "acme" {
						panic("crash")
					}
				}
			},
		}
		pool := func(tenant string) otp.Child {
			return otp.Child{ID: tenant,
				Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{{
					Restart: otp.Temporary, Start: otp.WorkerWith(func(args any) otp.Behaviour {
						return brief{h: args.(session.Args).Handle}
					}),
				}}})}
		}
		tree, err := system.Start(t.Context(), "top", otp.Spec{
			Intensity: otp.Intensity{Restarts: 5, Within: 10 * time.Second},
			Backoff:   otp.Backoff{First: time.Second, Max: time.Minute, Stable: time.Minute},
			Children: []otp.Child{
				{ID: "manager", Start: otp.Worker(func() otp.Behaviour {
					return session.New(o, b.index)
				})}, pool("acme"), pool("globex"),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tree.Shutdown(context.Background()) }()
		b.manager, _ = system.Whereis("top/manager")
		test(b)
	})
}
