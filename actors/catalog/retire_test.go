package catalog_test

import (
	"context"
	"errors"
	"strconv"
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

// end makes a fake connection end, as if unused for long, or broken.
type end struct{ cause error }

// link is a connection that only ends when it is told to.
type link struct{ otp.Base }

func (link) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *client.Attach:
		m.Reply(struct{}{})
	case end:
		return m.cause
	}
	return nil
}

// small is a catalogue with one server, whose connections do nothing, below the root "top".
type small struct {
	t      *testing.T
	system *otp.System
}

// most is the bound on the connections of one principal.
const most = 200

// newSmall starts it. The mailbox of the server's supervisor has the given size; 0 means the
// default.
func newSmall(t *testing.T, share tenant.Share, mailbox int) small {
	t.Helper()
	system := otp.NewSystem(otp.Options{})
	// gives the remaining goroutines time to end
	t.Cleanup(func() { system.Close(); time.Sleep(time.Second) })
	server := tenant.Server{Name: "files", Command: tenant.NewSecret("files"), Share: share}
	o := catalog.Options{
		Tenant: func() *tenant.Tenant {
			return &tenant.Tenant{Name: "acme", Servers: []tenant.Server{server}}
		},
		Upstreams: func() (otp.Ref, bool) { return system.Whereis("top/client_sup") },
		Connection: func(_ tenant.Server, k tenant.Key, _ protocol.ClientCapabilities,
			_ protocol.Implementation, _ *client.AbandonedState, _ otp.Ref) otp.Child {
			return client.Supervised(k, tenant.Intensity{},
				otp.Child{Start: otp.Worker(func() otp.Behaviour {
					return link{}
				})})
		},
		Emit: func(telemetry.Event) {}, Connections: most,
	}
	_, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "catalog", Start: otp.Worker(func() otp.Behaviour { return catalog.New(o) })},
		{ID: "client_sup", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne,
			Children: []otp.Child{{
				Restart: otp.Transient, Mailbox: mailbox, Start: otp.SupervisorWith(func(any) otp.Spec {
					return otp.Spec{}
				}),
			}}})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return small{t, system}
}

// connect asks for the connection of a session.
func (s small) connect(session string) otp.Ref {
	s.t.Helper()
	conn, err := s.try("ci", session)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

func (s small) try(principal, session string) (otp.Ref, error) {
	ref, _ := s.system.Whereis("top/catalog")
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	caller := catalog.Caller{Session: session, Principal: principal}
	return otp.Do[catalog.ConnectRequest, otp.Ref](ctx, ref, catalog.ConnectRequest{
		Caller: caller, Server: "files",
	})
}

// A connection that was unused for long ends for good. The next caller gets a new one under the
// same key, and old rows do not accumulate.
func TestConnectionThatEndedIsOpenedAgainAndLeavesNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, tenant.ByDefault, 0)
		first := s.connect("one")
		for _, cause := range []error{otp.Normal, otp.ErrShutdown} {
			if err := first.Send(end{cause}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, there := s.system.Whereis(first.Path()); there {
				t.Errorf("after %v: the row %s is still there", cause, first.Path())
			}
			next := s.connect("two")
			if next.Path() != first.Path() || !next.Alive() {
				t.Errorf("after %v: got %s, alive %t, want a new connection at %s", cause, next.Path(),
					next.Alive(), first.Path())
			}
			first = next
		}
	})
}

// Sessions that end together end their connections together, with more requests than a supervisor's
// mailbox holds. No row is left behind.
func TestConnectionsThatEndTogetherLeaveNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, tenant.BySession, 1)
		var all []otp.Ref
		for i := range most {
			all = append(all, s.connect(strconv.Itoa(i)))
		}
		for _, conn := range all {
			if err := conn.Send(end{otp.Normal}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // far longer than the retries for a busy supervisor take
		remaining := 0
		for _, conn := range all {
			if _, there := s.system.Whereis(conn.Path()); there {
				remaining++
			}
		}
		if remaining > 0 {
			t.Errorf("%d of %d rows are still there", remaining, len(all))
		}
	})
}

// The connections of one principal to a server are bounded. Other principals are not affected, and
// a connection that ends makes room.
func TestConnectionsOfAPrincipalAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, tenant.BySession, 0)
		var last otp.Ref
		for i := range most {
			last = s.connect(strconv.Itoa(i))
		}
		if _, err := s.try("ci", "more"); !errors.Is(err, protocol.ConditionOverloaded) {
			t.Errorf("one more: %v", err)
		}
		if _, err := s.try("bob", "his"); err != nil {
			t.Errorf("another principal: %v", err)
		}
		if err := last.Send(end{otp.Normal}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := s.try("ci", "more"); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
	})
}

// Sessions whose first calls come together all get their connections, although these are more
// requests than a supervisor's mailbox holds. The bound of the principal still holds.
func TestConnectionsThatAreAskedForTogetherAreOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const over = 50
		s := newSmall(t, tenant.BySession, 1)
		outcomes := make(chan error, most+over)
		for i := range most + over {
			go func() { // it ends with its answer
				_, err := s.try("ci", strconv.Itoa(i))
				outcomes <- err
			}()
		}
		opened, refused := 0, 0
		for range most + over {
			switch err := <-outcomes; {
			case err == nil:
				opened++
			case errors.Is(err, protocol.ConditionOverloaded):
				refused++
			default:
				t.Fatal(err)
			}
		}
		if opened != most || refused != over {
			t.Errorf("%d opened and %d refused, want %d and %d", opened, refused, most, over)
		}
	})
}

// A caller that waits for a connection to a server that is given up is told so, with the time to
// retry, like a caller that asks afterwards.
func TestServerThatGivesUpKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = most - 1
		s := newSmall(t, tenant.BySession, 1)
		first, start := s.connect("first"), time.Now()
		outcomes := make(chan error, all)
		for i := range all {
			go func() { // it ends with its answer
				_, err := s.try("ci", strconv.Itoa(i))
				outcomes <- err
			}()
		}
		// most of them wait for the supervisor, which was overloaded
		for synctest.Wait(); first.Send(end{errDisk}) == nil; {
			synctest.Wait()
		}
		for range all {
			if err := <-outcomes; err != nil && !errors.Is(err, protocol.ConditionUpstreamLost) {
				t.Error(err)
			}
		}
		if took := time.Since(start); took >= catalog.FirstPause/2 {
			t.Errorf("told after %v, which is when the server is tried again", took)
		}
	})
}
