package session_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// disk stores sessions over the successive hosts of a test.
type disk struct {
	mu     sync.Mutex
	all    map[string]jsontext.Value
	writes int
	ended  []telemetry.Closing
}

// shelf is the actor that writes to disk.
type shelf struct {
	otp.Base
	d *disk
}

func (s shelf) Receive(_ *otp.Process, msg any) error {
	if k, ok := msg.(*storage.Keep); ok {
		s.d.mu.Lock()
		defer s.d.mu.Unlock()
		s.d.writes++
		if len(k.Change.Value) == 0 {
			delete(s.d.all, k.Change.Key)
		} else {
			s.d.all[k.Change.Key] = k.Change.Value
		}
	}
	return nil
}

// host runs do in a new host, and then kills the host.
func (d *disk) host(t *testing.T, idle time.Duration,
	do func(index *session.Index, manager otp.Ref)) {
	t.Helper()
	system, index := otp.NewSystem(otp.Options{}), session.NewIndex(nil)
	defer func() { system.Close(); time.Sleep(time.Millisecond) }()
	o := session.Options{
		Clock: clock.System, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}),
		Total: func() int {
			return 100
		},
		Pool: func(string) (otp.Ref, bool) { return system.Whereis("top/pool") },
		Limit: func(string) int {
			return 100
		}, Idle: func(string) time.Duration { return idle }, Restore: maps.All(maps.Clone(d.all)),
		Storage: func() otp.Ref { ref, _ := system.Whereis("top/storage"); return ref },
		Emit: func(e telemetry.Event) {
			if c, ok := e.(telemetry.SessionClosed); ok {
				d.ended = append(d.ended, c.Cause)
			}
		},
	}
	tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "storage", Start: otp.Worker(func() otp.Behaviour { return shelf{d: d} })},
		{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return session.New(o, index) })},
		{ID: "pool", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{{
			Restart: otp.Temporary, Start: otp.WorkerWith(func(any) otp.Behaviour { return dummy{} }),
		}}})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tree.Shutdown(context.Background()) }()
	manager, _ := system.Whereis("top/manager")
	do(index, manager)
	synctest.Wait()
}

// Idle times continue over restarts. An unused session ends in its time, and a used one does not,
// however often the host is restarted. The time without a host counts.
func TestIdleTimesGoOnOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = 3 * time.Second
		d := &disk{all: map[string]jsontext.Value{}}
		var used, unused string
		begun := time.Now()
		d.host(t, idle, func(_ *session.Index, manager otp.Ref) {
			for _, id := range []*string{&used, &unused} {
				h, err := otp.Do[session.OpenRequest, *session.Handle](t.Context(), manager,
					session.OpenRequest{Endpoint: here})
				if err != nil {
					t.Fatal(err)
				}
				h.Store(&session.Record{Version: protocol.V20251125, Ready: true})
				*id = h.ID()
			}
			time.Sleep(time.Second)
		})
		for host := range 20 {
			there := false
			d.host(t, idle, func(index *session.Index, _ otp.Ref) {
				h, ok := index.Get(used)
				if !ok {
					t.Fatalf("the session that is used is gone in host %d", host)
				}
				_, there = index.Get(unused)
				h.Touch()
				time.Sleep(700 * time.Millisecond)
			})
			if since := time.Since(begun); there && since > idle+3*time.Second || !there && since < idle {
				t.Fatalf("after %v: the session that nobody uses is there %t", since, there)
			}
		}
		if len(d.ended) != 1 || d.ended[0] != telemetry.ClosedIdle || len(d.all) != 1 {
			t.Errorf("ended %v, %d are stored", d.ended, len(d.all))
		}
		time.Sleep(10 * time.Second) // without a host
		d.host(t, idle, func(index *session.Index, _ otp.Ref) {
			if index.Len() != 0 || len(d.ended) != 2 {
				t.Errorf("%d sessions after a long time without a host, ended %v", index.Len(), d.ended)
			}
		})
	})
}

// A session in constant use is stored from time to time, not for each request.
func TestUseIsWrittenDownNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{all: map[string]jsontext.Value{}}
		d.host(t, 16*time.Minute, func(_ *session.Index, manager otp.Ref) {
			h, err := otp.Do[session.OpenRequest, *session.Handle](t.Context(), manager, session.OpenRequest{
				Endpoint: here,
			})
			if err != nil {
				t.Fatal(err)
			}
			h.Store(&session.Record{Version: protocol.V20251125, Ready: true})
			for range 3600 {
				time.Sleep(time.Second)
				h.Touch()
			}
			synctest.Wait()
			if d.writes < 50 || d.writes > 70 {
				t.Errorf("written %d times in an hour, want once a minute", d.writes)
			}
		})
	})
}
