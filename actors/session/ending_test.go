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

// brief is a session's actor that ends its session after a minute, like one that is never
// initialized.
type brief struct {
	dummy
	h    *session.Handle
	each time.Duration
}

func (b brief) Init(p *otp.Process) error {
	if b.each > 0 {
		p.After(b.each, "over")
	}
	return nil
}

func (b brief) Receive(p *otp.Process, msg any) error {
	if msg == "over" {
		b.h.End(telemetry.ClosedUninitialized)
	}
	return b.dummy.Receive(p, msg)
}

// However many sessions of a tenant end at once, by themselves or as idle, another tenant can open
// its own meanwhile.
func TestSessionsThatEndAtOnceHoldUpNobody(t *testing.T) {
	const many, box = 10_000, 2000 // in the proportion of 40,000 sessions to the mailbox of the host
	for name, each := range map[string]time.Duration{"by themselves": time.Minute, "idle": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				system := otp.NewSystem(otp.Options{})
				// gives the remaining goroutines time to end
				defer func() { system.Close(); time.Sleep(time.Second) }()
				index := session.NewIndex(nil)
				o := session.Options{
					Clock: clock.System, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}),
					Total: func() int {
						return 2 * many
					},
					Pool: func(tenant string) (otp.Ref, bool) { return system.Whereis("top/" + tenant) },
					Limit: func(string) int {
						return 2 * many
					}, Idle: func(string) time.Duration { return time.Minute },
					Emit: func(telemetry.Event) {},
				}
				pool := func(tenant string) otp.Child {
					return otp.Child{ID: tenant, Mailbox: box,
						Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{{
							Restart: otp.Temporary, Start: otp.WorkerWith(func(args any) otp.Behaviour {
								return brief{h: args.(session.Args).Handle, each: each}
							}),
						}}})}
				}
				tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
					{ID: "manager", Mailbox: box, Start: otp.Worker(func() otp.Behaviour {
						return session.New(o, index)
					})}, pool("crowd"), pool("acme"),
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tree.Shutdown(context.Background()) }()
				manager, _ := system.Whereis("top/manager")
				open := func(tenant string) error {
					q := session.OpenRequest{Endpoint: streamable.Endpoint{Tenant: tenant}}
					h, err := otp.Do[session.OpenRequest, *session.Handle](t.Context(), manager, q)
					if err == nil {
						h.Store(&session.Record{Version: protocol.V20251125})
					}
					return err
				}
				var group sync.WaitGroup
				for range 100 {
					group.Go(func() {
						for range many / 100 {
							if err := open("crowd"); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
				// From here on the sessions end, in few instants, because the fake clock stands while any
				// goroutine is busy.
				time.Sleep(time.Minute)
				for remaining := many; remaining > 0; time.Sleep(100 * time.Millisecond) {
					for n := 0; n < 50 || index.Tenant("crowd") < remaining; n++ {
						remaining = index.Tenant("crowd")
						if err := open("acme"); err != nil {
							t.Fatalf("while %d sessions end: %v", remaining, err)
						}
					}
				}
			})
		})
	}
}
