package session_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// dummy stands for a session's actor: it ends when its session does.
type dummy struct{ otp.Base }

func (dummy) Receive(_ *otp.Process, msg any) error {
	if d, ok := msg.(*session.Deliver); ok {
		d.Seen()
	}
	if _, over := msg.(*session.Expired); over {
		return otp.ErrShutdown
	}
	return nil
}

type rig struct {
	gone   sync.Map // endpoints that are no longer configured
	t      *testing.T
	ref    otp.Ref
	index  *session.Index
	kept   *quota.Ledger
	faults *fault.Registry
	closed []telemetry.SessionClosed // written by the manager, read when everything is idle
	each   atomic.Int32              // sessions of one principal; 0 for no bound
	age    atomic.Int64              // nanoseconds; 0 for no bound
	clock  *clock.Skewed
}

// run starts a manager in a synctest bubble. A tenant may have three sessions, which last an hour.
func run(t *testing.T, test func(r *rig)) {
	t.Helper()
	runIdle(t, time.Hour, test)
}

func runIdle(t *testing.T, limit time.Duration, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		faults := fault.New(clock.System)
		system := otp.NewSystem(otp.Options{Faults: faults})
		// gives the remaining goroutines time to end
		defer func() { system.Close(); time.Sleep(time.Second) }()
		r := &rig{t: t, kept: quota.NewLedger(nil), faults: faults, clock: clock.NewSkewed(nil)}
		r.index = session.NewIndex(r.kept)
		o := session.Options{
			Clock: r.clock, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}),
			Total: func() int {
				return 100
			},
			Pool: func(string) (otp.Ref, bool) { return system.Whereis("top/pool") },
			Serves: func(ep streamable.Endpoint) bool {
				_, gone := r.gone.Load(ep)
				return !gone
			}, EndGrace: 10 * time.Second,
			OfPrincipal: func(string) int {
				return int(r.each.Load())
			}, Age: func(string) time.Duration { return time.Duration(r.age.Load()) },
			Limit: func(string) int { return 3 },
			Idle: func(tenant string) time.Duration {
				if _, gone := r.gone.Load(streamable.Endpoint{Tenant: tenant, Principal: "ci"}); gone {
					return 0 // a tenant that is not configured has no limits
				}
				return limit
			},
			Emit: func(e telemetry.Event) {
				if c, ok := e.(telemetry.SessionClosed); ok {
					r.closed = append(r.closed, c)
				}
			},
		}
		tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
			{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return session.New(o, r.index) })},
			{ID: "pool", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne,
				Children: []otp.Child{{
					Restart: otp.Temporary, Start: otp.WorkerWith(func(any) otp.Behaviour { return dummy{} }),
				}}})},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tree.Shutdown(context.Background()) }()
		r.ref, _ = system.Whereis("top/manager")
		test(r)
	})
}

func (r *rig) open() *session.Handle {
	r.t.Helper()
	h, err := otp.Do[session.OpenRequest, *session.Handle](r.t.Context(), r.ref, session.OpenRequest{
		Endpoint: streamable.Endpoint{Tenant: "acme", Principal: "ci"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	h.Store(&session.Record{Version: protocol.V20251125})
	return h
}

func (r *rig) there(h *session.Handle) bool {
	_, ok := r.index.Get(h.ID())
	return ok
}

// S3-38, S3-39, S3-72: an idle session ends by itself after its time, or by a sweep on request,
// which returns how many it ended.
func TestIdleSessionsEnd(t *testing.T) {
	run(t, func(r *rig) {
		used, idle := r.open(), r.open()
		time.Sleep(40 * time.Minute)
		used.Touch()
		time.Sleep(25 * time.Minute)
		if !r.there(used) || r.there(idle) {
			t.Errorf("after an hour: the used one is there %t, the idle one %t", r.there(used),
				r.there(idle))
		}
		late := r.open()
		time.Sleep(time.Hour + 30*time.Second) // between two sweeps of the manager itself
		n, err := otp.Do[session.SweepRequest, int](r.t.Context(), r.ref, session.SweepRequest{})
		if err != nil || n != 1 || r.index.Len() != 0 || len(r.closed) != 3 {
			t.Errorf("swept %d, %v; %d are left, %d were told of, want one, none and three", n, err,
				r.index.Len(), len(r.closed))
		}
		synctest.Wait() // until its actor has gone
		if err := late.Deliver(r.t.Context(), jsonrpc.Notification("notifications/initialized", nil),
			nil); !errors.Is(err, streamable.ErrNoSession) {
			t.Errorf("a message for it: got %v, want no session", err)
		}
	})
}

// At a tenant's bound the longest idle session is evicted.
func TestLongestIdleSessionMakesRoom(t *testing.T) {
	run(t, func(r *rig) {
		var open []*session.Handle
		for range 3 {
			open = append(open, r.open())
			time.Sleep(time.Second)
		}
		open[0].Touch()
		fourth := r.open()
		synctest.Wait()
		if !r.there(open[0]) || r.there(open[1]) || !r.there(open[2]) || !r.there(fourth) {
			t.Error("not the longest idle one made room")
		}
		open[2].Touch() // it would have been evicted next
		fifth := r.open()
		synctest.Wait()
		if len(r.closed) != 2 || r.closed[0].Session != open[1].Row() || r.closed[0].Tenant != "acme" {
			t.Errorf("told %+v", r.closed)
		}
		if r.there(open[0]) || !r.there(open[2]) || !r.there(fourth) || !r.there(fifth) {
			t.Error("one that was used meanwhile made room")
		}
	})
}

// If all sessions of a principal at its bound are busy, another one is refused, and no session of
// anybody is evicted for it.
func TestSessionsOfAPrincipalAreBounded(t *testing.T) {
	run(t, func(r *rig) {
		r.each.Store(2)
		first := r.open()
		first.AddWaiting(1)
		r.open().AddWaiting(1)
		ask := func(principal string) error {
			ep := streamable.Endpoint{Tenant: "acme", Server: "one", Principal: principal}
			_, err := otp.Do[session.OpenRequest, *session.Handle](r.t.Context(), r.ref, session.OpenRequest{
				Endpoint: ep,
			})
			return err
		}
		if err := ask("ci"); !errors.Is(err, protocol.ConditionRateLimited) || r.index.Len() != 2 {
			t.Errorf("one too many: %v, and there are %d", err, r.index.Len())
		}
		if err := ask("other"); err != nil {
			t.Errorf("another: %v", err)
		}
		if err := first.Close(r.t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ask("ci"); err != nil || r.index.Len() != 3 {
			t.Errorf("with room again: %v, and there are %d", err, r.index.Len())
		}
	})
}

// A session ends at its maximum age even if it is in use, and no other session ends because of it.
func TestOldSessionsEnd(t *testing.T) {
	run(t, func(r *rig) {
		r.age.Store(int64(30 * time.Minute))
		old := r.open()
		time.Sleep(20 * time.Minute)
		young := r.open()
		old.Touch()
		time.Sleep(9 * time.Minute)
		if old.Touch(); !r.there(old) {
			t.Error("it ends too early")
		}
		time.Sleep(2 * time.Minute)
		if r.there(old) || !r.there(young) {
			t.Errorf("the old one is there %t, the young one %t", r.there(old), r.there(young))
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if r.there(young) || len(r.closed) != 2 || r.closed[0].Cause != telemetry.ClosedAged {
			t.Errorf("the second is there %t, told %+v", r.there(young), r.closed)
		}
	})
}

// S3-19 requires ids that cannot be guessed: 256 bits from the system's source. The visible row of
// a session reveals nothing about its id.
func TestSessionIDsAreSecrets(t *testing.T) {
	run(t, func(r *rig) {
		a, b := r.open(), r.open()
		if len(a.ID()) < 52 || a.ID() == b.ID() || a.Row() == b.Row() || len(a.Row()) != 32 {
			t.Errorf("ids %d and %d long, rows %s and %s", len(a.ID()), len(b.ID()), a.Row(), b.Row())
		}
	})
}

// S3-37: closing ends a session at once, and closing it again is no error.
func TestClosedSessionIsUnknown(t *testing.T) {
	run(t, func(r *rig) {
		h := r.open()
		for range 2 {
			if err := h.Close(r.t.Context()); err != nil {
				t.Fatal(err)
			}
			if r.there(h) || r.index.Tenant("acme") != 0 {
				t.Error("it is still there")
			}
		}
	})
}

// Short idle limits are kept as exactly as long ones.
func TestIdleSessionsEndInTime(t *testing.T) {
	for _, limit := range []time.Duration{5 * time.Second, time.Minute, 10 * time.Hour} {
		t.Run(limit.String(), func(t *testing.T) {
			runIdle(t, limit, func(r *rig) {
				time.Sleep(17 * time.Second)
				h := r.open()
				time.Sleep(limit - time.Millisecond)
				synctest.Wait()
				if !r.there(h) {
					t.Error("it ended early")
				}
				time.Sleep(max(limit/30, 2*time.Second))
				synctest.Wait()
				if r.there(h) {
					t.Error("it is still there")
				}
			})
		})
	}
}
