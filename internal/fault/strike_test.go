package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/clock"
)

// in arms a fault for the length of a test and returns its id.
func (f Fault) in(t *testing.T, r *Registry) string {
	t.Helper()
	if f.Lease == 0 {
		f.Lease = time.Minute
	}
	id, err := r.Arm(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Disarm(id) })
	return id
}

// bubble runs a test on a registry with virtual time.
func bubble(t *testing.T, f func(t *testing.T, r *Registry)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, New(nil)) })
}

// lasts returns the duration of f.
func lasts(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func TestWhoIsStruckWaits(t *testing.T) {
	at := Point{Path: "a"}
	for name, c := range map[string]struct {
		fault Fault
		want  time.Duration
	}{
		"slow": {Fault{Action: Slow, Point: at, Delay: 3 * time.Second},
			3 * time.Second},
		"slow, for the last time": {Fault{Action: Slow, Point: at, Delay: 3 * time.Second, Count: 1},
			3 * time.Second},
		"slow, longer than armed": {Fault{Action: Slow, Point: at, Delay: 3 * time.Minute},
			time.Minute},
		"hangs":                      {Fault{Action: Hang, Point: at}, time.Minute},
		"hangs once":                 {Fault{Action: Hang, Point: at, Count: 1}, time.Minute},
		"hangs for a time":           {Fault{Action: Hang, Point: at, Delay: time.Second}, time.Second},
		"another hangs":              {Fault{Action: Hang, Point: Point{Path: "b"}}, 0},
		"hangs at its start, not at": {Fault{Action: Hang, Point: Point{Place: Init, Path: "a"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *Registry) {
				c.fault.in(t, r)
				if got := lasts(func() { r.BeforeReceive("a", nil) }); got != c.want {
					t.Errorf("waited %v, want %v", got, c.want)
				}
			})
		})
	}
}

// A hanging caller continues when the fault is ended, and not before.
func TestAHangEndsWithItsFault(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		id := Fault{Action: Hang, Point: Point{Path: "a"}, Count: 1}.in(t, r)
		var through atomic.Bool
		go func() { r.BeforeReceive("a", nil); through.Store(true) }()
		synctest.Wait()
		if got := lasts(func() { r.BeforeReceive("a", nil) }); got != 0 || through.Load() {
			t.Errorf("the second waited %v, want only the first to hang; it is through: %v", got,
				through.Load())
		}
		r.Disarm(id)
		synctest.Wait()
		if !through.Load() {
			t.Error("still hangs")
		}
	})
}

func TestHowOftenAMessageIsHandled(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		if got := r.BeforeReceive("a", nil); got != 1 {
			t.Errorf("idle: %d times, want 1", got)
		}
		twice := Fault{Action: Duplicate, Point: Point{Path: "a"}}.in(t, r)
		if got := r.BeforeReceive("a", nil); got != 2 {
			t.Errorf("duplicated: %d times, want 2", got)
		}
		Fault{Action: Drop, Point: Point{Path: "a", Kind: "fault.message"}}.in(t, r)
		if got, other := r.BeforeReceive("a", message{}), r.BeforeReceive("a", nil); got != 0 ||
			other != 2 {
			t.Errorf("dropped: %d times, another message %d, want 0 and 2", got, other)
		}
		r.Disarm(twice)
		if got := r.BeforeReceive("a", nil); got != 1 {
			t.Errorf("healed: %d times, want 1", got)
		}
	})
}

func TestAStartFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		id := Fault{Action: Fail, Point: Point{Place: Init, Path: "a"}, Count: 2}.in(t, r)
		for n, want := range []error{Injected{id, Fail, "a"}, Injected{id, Fail, "a"}, nil} {
			if got := r.BeforeInit("a"); !errors.Is(got, want) {
				t.Errorf("start %d: %v, want %v", n, got, want)
			}
		}
		Fault{Action: Slow, Point: Point{Place: Init, Path: "a"}, Delay: time.Second}.in(t, r)
		if got := lasts(func() { _ = r.BeforeInit("a") }); got != time.Second {
			t.Errorf("a slow start took %v", got)
		}
		Fault{Action: Panic, Point: Point{Place: Init, Path: "a"}}.in(t, r)
		defer func() {
			if v, ok := recover().(Injected); !ok || v.Action != Panic {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = r.BeforeInit("a")
		t.Error("no panic")
	})
}

func TestAPlaceIsNarrowedByWho(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		ann := Who{Tenant: "acme", Server: "files", Session: "s1"}
		id := Fault{Action: Drop,
			Point: Point{Place: UpstreamRead, Who: Who{Tenant: "acme", Server: "files"}}}.in(t, r)
		for _, c := range []struct {
			place  Place
			origin Who
			want   Effect
		}{
			{UpstreamRead, ann, Effect{Action: Drop, ID: id, Place: UpstreamRead}},
			{UpstreamWrite, ann, Effect{}},
			{UpstreamRead, Who{Tenant: "acme", Server: "web"}, Effect{}},
			{UpstreamRead, Who{Tenant: "globex", Server: "files"}, Effect{}},
		} {
			if got := r.At(t.Context(), c.place, c.origin); got != c.want {
				t.Errorf("%s for %+v: %+v, want %+v", c.place, c.origin, got, c.want)
			}
		}
		Fault{Action: Slow, Point: Point{Place: StoreSync}, Delay: time.Hour, Lease: MaxLease}.in(t, r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := lasts(func() { r.At(ctx, StoreSync, Who{}) }); got != time.Second {
			t.Errorf("waited %v, want as long as its context", got)
		}
		late := Fault{Action: Late, Point: Point{Place: UpstreamRead, Who: Who{Tenant: "globex"}},
			Delay: time.Hour, Lease: MaxLease}.in(t, r)
		if got := r.At(t.Context(), UpstreamRead,
			Who{Tenant: "globex"}); got != (Effect{Late, late, UpstreamRead, time.Hour}) {
			t.Errorf("%+v: who is late is not waited for here", got)
		}
	})
}

// The same seed strikes the same matches.
func TestAPercentageIsDrawnFromItsSeed(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		draw := func(seed uint64) (pattern string, n int) {
			id := Fault{Action: Drop, Point: Point{Path: "a"}, Percent: 10, Seed: seed}.in(t, r)
			defer r.Disarm(id)
			for range 2000 {
				struck := 1 - r.BeforeReceive("a", nil)
				pattern, n = pattern+fmt.Sprint(struck), n+struck
			}
			return pattern, n
		}
		first, n := draw(7)
		again, _ := draw(7)
		other, _ := draw(8)
		if first != again || first == other || n < 140 || n > 260 {
			t.Errorf("%d of 2000, want about 200; the same again: %v; another seed differs: %v", n,
				first == again, first != other)
		}
	})
}

func TestALeaseIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		id := Fault{Action: Drop, Point: Point{Path: "a"}, Lease: 3 * time.Second}.in(t, r)
		for range 10 {
			time.Sleep(2 * time.Second)
			if s, err := r.Renew(id, 3*time.Second); err != nil || time.Until(s.Until) != 3*time.Second {
				t.Fatalf("renewed: %+v, %v", s, err)
			}
		}
		if _, err := r.Renew(id, 0); !errors.Is(err, ErrLease) {
			t.Errorf("no lease: %v", err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if _, err := r.Renew(id, time.Second); !errors.Is(err, ErrGone) ||
			r.BeforeReceive("a", nil) != 1 {
			t.Errorf("after the lease: %v", err)
		}
	})
}

func TestARunIsEndedAsAWhole(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		for _, run := range []string{"one", "two", "one", ""} {
			Fault{Action: Drop, Point: Point{Path: "a"}, Run: run}.in(t, r)
		}
		if n := r.DisarmRun("one"); n != 2 || len(r.Active()) != 2 {
			t.Errorf("%d ended, %d left, want 2 and 2", n, len(r.Active()))
		}
		if n := r.DisarmRun(""); n != 2 || r.live.Load() != nil {
			t.Errorf("%d ended, want all", n)
		}
	})
}

// Every change of a fault is reported, its strikes at most once a second.
func TestChangesAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		var mu sync.Mutex
		var told []string
		r.Watch(func(c Change) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s %s %d", c.ID, c.Kind, c.Struck))
		})
		id := Fault{Action: Drop, Point: Point{Path: "a"}, Count: 12}.in(t, r)
		for range 12 {
			r.BeforeReceive("a", nil)
			time.Sleep(200 * time.Millisecond)
		}
		lost := Fault{Action: Panic, Point: Point{Path: "a"}, Lease: time.Second}.in(t, r)
		strikes(r, "a", nil)
		if _, err := r.Renew(lost, time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r.Disarm(Fault{Action: Drop, Point: Point{Path: "a"}}.in(t, r))
		want := strings.Join([]string{
			id + " armed 0", id + " struck 1", id + " struck 6", id + " struck 11", id + " used up 12",
			"fault-2 armed 0", "fault-2 renewed 1", "fault-2 expired 1", "fault-3 armed 0",
			"fault-3 disarmed 0",
		}, "\n")
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("told:\n%s\nwant:\n%s", got, want)
		}
	})
}

// Exactly the combinations in the table can be armed.
func TestPlacesTakeTheirActionsOnly(t *testing.T) {
	all := []Action{Panic, Hang, Slow, Late, Drop, Duplicate, Fail, Garble, Truncate, Cut, ReadOnly}
	bubble(t, func(t *testing.T, r *Registry) {
		for _, p := range Places() {
			for _, action := range all {
				f := Fault{Action: action, Point: Point{Place: p.Place}, Lease: time.Minute}
				if p.Actor {
					f.Point.Path = "a"
				}
				if action == Slow || action == Late {
					f.Delay = time.Second
				}
				id, err := r.Arm(f)
				r.Disarm(id)
				listed := strings.Contains(join(p.Actions), string(action))
				if (err == nil) != listed {
					t.Errorf("%s at %s: %v, listed: %v", action, p.Place, err, listed)
				}
			}
		}
	})
}

type caused string

func (c caused) Origin() string { return string(c) }

// A fault at an actor can be limited to the messages that a tenant has caused.
func TestAnActorsFaultIsNarrowedByWhoCausedTheMessage(t *testing.T) {
	r := New(clock.System)
	r.Attribute(func(msg any) string { of, _ := msg.(caused); return string(of) })
	Fault{Action: Drop, Point: Point{Path: "core/x", Who: Who{Tenant: "acme"}}}.in(t, r)
	for msg, want := range map[any]int{caused("acme"): 0, caused("globex"): 1, caused(""): 1,
		"of nobody": 1} {
		if got := r.BeforeReceive("core/x", msg); got != want {
			t.Errorf("%v is handled %d times, want %d", msg, got, want)
		}
	}
}

// A goroutine is struck only if it works for the tenant.
func TestGoroutinesOfATenantAreStruck(t *testing.T) {
	bubble(t, func(t *testing.T, r *Registry) {
		Fault{Action: Panic, Point: Point{Place: Routine, Path: "core/*", Who: Who{Tenant: "acme"}}}.in(t,
			r)
		for _, c := range []struct {
			path, tenant string
			want         bool
		}{{"core/x", "acme", true}, {"core/x", "globex", false}, {"core/x", "", false},
			{"admin", "acme", false}} {
			func() {
				defer func() {
					if _, struck := recover().(Injected); struck != c.want {
						t.Errorf("%+v: struck %t", c, struck)
					}
				}()
				r.BeforeRoutine(t.Context(), c.path, c.tenant)
			}()
			if r.BeforeReceive(c.path, nil) != 1 {
				t.Errorf("%+v: a message is struck", c)
			}
		}
		slow := Fault{Action: Slow, Point: Point{Place: Routine, Path: "slow"}, Delay: time.Hour}.in(t, r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := time.Now()
		r.BeforeRoutine(ctx, "slow", "")
		if took := time.Since(before); took != time.Second {
			t.Errorf("it waited for %s, and its context ended after a second", took)
		}
		r.Disarm(slow)
	})
}
