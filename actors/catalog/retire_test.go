package catalog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// end makes a fake connection end as one does that nobody has used for long, or that has broken.
type end struct{ why error }

// link is a connection that does nothing but end when it is told to.
type link struct{ otp.Base }

func (link) Receive(_ *otp.Process, msg any) error {
	if m, ok := msg.(end); ok {
		return m.why
	}
	return nil
}

// A connection that nobody used for long ends for good. The next caller gets a new one under the same key, and rows of old ones do
// not pile up.
func TestConnectionThatEndedIsOpenedAgainAndLeavesNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := otp.NewSystem(otp.Options{})
		defer system.Close()
		server := tenant.Server{Name: "files", Command: tenant.NewSecret("files")}
		o := catalog.Options{
			Tenant:    tenant.Tenant{Name: "acme", Servers: []tenant.Server{server}},
			Upstreams: func() (otp.Ref, bool) { return system.Whereis("top/client_sup") },
			Connection: func(_ tenant.Server, k tenant.Key, _ protocol.ClientCapabilities, _ *client.Left, _ otp.Ref) otp.Child {
				return otp.Child{ID: k.String(), Restart: otp.Transient, Start: otp.Worker(func() otp.Behaviour { return link{} })}
			},
			Emit: func(telemetry.Event) {},
		}
		tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
			{ID: "catalog", Start: otp.Worker(func() otp.Behaviour { return catalog.New(o) })},
			{ID: "client_sup", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{{
				Restart: otp.Transient, Start: otp.SupervisorWith(func(any) otp.Spec { return otp.Spec{} }),
			}}})},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tree.Shutdown(context.Background()) }()

		connect := func(session string) otp.Ref {
			t.Helper()
			ref, _ := system.Whereis("top/catalog")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			caller := catalog.Caller{Session: session, Principal: "ci"}
			conn, err := otp.Do[catalog.ConnectRequest, otp.Ref](ctx, ref, catalog.ConnectRequest{Caller: caller, Server: "files"})
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}
		first := connect("one")
		for _, why := range []error{otp.Normal, otp.ErrShutdown} {
			if err := first.Send(end{why}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, there := system.Whereis(first.Path()); there {
				t.Errorf("after %v: the row %s is still there", why, first.Path())
			}
			next := connect("two")
			if next.Path() != first.Path() || !next.Alive() {
				t.Errorf("after %v: got %s, alive %t, want a new connection at %s", why, next.Path(), next.Alive(), first.Path())
			}
			first = next
		}
	})
}
