package fault

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type message struct{}

// strikes reports whether receiving msg at path panics with an Injected value.
func strikes(r *Registry, path string, msg any) (struck bool) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case Injected:
			struck = v.Where == path
		default:
			panic(v)
		}
	}()
	r.BeforeReceive(path, msg)
	return false
}

func arm(t *testing.T, r *Registry, p Point, count int) string {
	t.Helper()
	id, err := r.Arm(Fault{Action: Panic, Point: p, Count: count, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAFaultStrikesItsPointOnly(t *testing.T) {
	for _, c := range []struct {
		point Point
		path  string
		msg   any
		want  bool
	}{
		{Point{Path: "a/b"}, "a/b", message{}, true},
		{Point{Path: "a/b"}, "a/b", nil, true},
		{Point{Path: "a/b"}, "a/bc", message{}, false},
		{Point{Path: "a/b"}, "a", message{}, false},
		{Point{Path: "a/*"}, "a/b", message{}, true},
		{Point{Path: "a/*"}, "a/b/c", message{}, true},
		{Point{Path: "a/*"}, "b/a/", message{}, false},
		{Point{Path: "*"}, "x", message{}, true},
		{Point{Path: "a", Kind: "fault.message"}, "a", message{}, true},
		{Point{Path: "a", Kind: "*fault.message"}, "a", message{}, false},
		{Point{Path: "a", Kind: "*fault.message"}, "a", &message{}, true},
		{Point{Path: "a", Kind: "fault.message"}, "a", nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := New(nil)
			id := arm(t, r, c.point, 0)
			// rows with a kind match by path, whatever the actor handles
			if got, want := r.MayStrike(c.path), c.want || c.point.Kind != ""; got != want {
				t.Errorf("%+v at %s: disturbs %v, want %v", c.point, c.path, got, want)
			}
			if got := strikes(r, c.path, c.msg); got != c.want {
				t.Errorf("%+v at %s with %T: struck %v, want %v", c.point, c.path, c.msg, got, c.want)
			}
			r.Disarm(id)
		})
	}
}

func TestACountIsExactUnderConcurrentReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(nil)
		arm(t, r, Point{Path: "*"}, 3)
		var n atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if strikes(r, "a", nil) {
					n.Add(1)
				}
			})
		}
		wg.Wait()
		if n.Load() != 3 {
			t.Errorf("struck %d times, want 3", n.Load())
		}
		if len(r.Active()) != 0 {
			t.Error("still armed")
		}
	})
}

func TestALeaseHealsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(nil)
		arm(t, r, Point{Path: "a"}, 0)
		time.Sleep(time.Minute - 1)
		if !strikes(r, "a", nil) {
			t.Error("healed before the lease ended")
		}
		if s := r.Active(); len(s) != 1 || s[0].ID != "fault-1" || s[0].Struck != 1 ||
			!s[0].Until.Equal(time.Now().Add(1)) {
			t.Errorf("status %+v", s)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if strikes(r, "a", nil) || r.live.Load() != nil {
			t.Error("armed after the lease ended")
		}
	})
}

func TestDisarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(nil)
		first, second := arm(t, r, Point{Path: "a"}, 0), arm(t, r, Point{Path: "b"}, 0)
		if !r.Disarm(first) || r.Disarm(first) || r.Disarm("nobody") {
			t.Error("Disarm does not say whether it did")
		}
		if strikes(r, "a", nil) || !strikes(r, "b", nil) {
			t.Error("the wrong one was disarmed")
		}
		r.Disarm(second)
	})
}

func TestArmRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(nil)
		good := Fault{Action: Panic, Point: Point{Path: "a"}, Count: 1, Lease: MaxLease}
		for name, c := range map[string]struct {
			change func(f *Fault)
			want   error
		}{
			"no action":        {func(f *Fault) { f.Action = "" }, ErrAction},
			"unknown action":   {func(f *Fault) { f.Action = "explode" }, ErrAction},
			"another's action": {func(f *Fault) { f.Action = Garble }, ErrAction},
			"unknown place":    {func(f *Fault) { f.Point.Place = "nowhere" }, ErrPlace},
			"no path":          {func(f *Fault) { f.Point.Path = "" }, ErrPoint},
			"a server's actor": {func(f *Fault) { f.Point.Server = "files" }, ErrPoint},
			"a tenant's start": {func(f *Fault) {
				f.Point.Place, f.Point.Tenant = Init, "acme"
			}, ErrPoint},
			"a start's message": {func(f *Fault) { f.Point.Place, f.Point.Kind = Init, "x.y" }, ErrPoint},
			"a store's path":    {func(f *Fault) { f.Point.Place, f.Action = StoreWrite, Fail }, ErrPoint},
			"a tenant's store": {func(f *Fault) {
				f.Point = Point{Place: StoreWrite, Who: Who{Tenant: "acme"}}
				f.Action = Fail
			}, ErrPoint},
			"too many percent":   {func(f *Fault) { f.Percent = 101 }, ErrPercent},
			"no number":          {func(f *Fault) { f.Percent = math.NaN() }, ErrPercent},
			"a panic that waits": {func(f *Fault) { f.Delay = time.Second }, ErrDelay},
			"slow without delay": {func(f *Fault) { f.Action = Slow }, ErrDelay},
			"a very long delay":  {func(f *Fault) { f.Action, f.Delay = Slow, MaxDelay+1 }, ErrDelay},
			"a negative delay":   {func(f *Fault) { f.Action, f.Delay = Hang, -1 }, ErrDelay},
			"negative count":     {func(f *Fault) { f.Count = -1 }, ErrCount},
			"no lease":           {func(f *Fault) { f.Lease = 0 }, ErrLease},
			"a long lease":       {func(f *Fault) { f.Lease = MaxLease + 1 }, ErrLease},
			"a run's long name":  {func(f *Fault) { f.Run = strings.Repeat("x", MaxRun+1) }, ErrRun},
		} {
			f := good
			c.change(&f)
			if _, err := r.Arm(f); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		for range MaxArmed {
			if _, err := r.Arm(good); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Arm(good); !errors.Is(err, ErrFull) {
			t.Errorf("one too many: %v", err)
		}
		for _, s := range r.Active() {
			r.Disarm(s.ID)
		}
	})
}

func TestANilRegistryIsInert(t *testing.T) {
	var r *Registry
	if strikes(r, "a", nil) || r.Active() != nil {
		t.Error("armed")
	}
}

func TestAnInjectedPanicSaysWhatItIs(t *testing.T) {
	if got := (Injected{"fault-1", Panic, "a"}).Error(); got != "injected panic fault-1 at a" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkReceiveUnarmed(b *testing.B) {
	r := New(nil)
	b.ReportAllocs()
	for b.Loop() {
		r.BeforeReceive("tenants/acme/session/1", nil)
	}
}

// One fault is armed, for another actor.
func BenchmarkReceiveArmedElsewhere(b *testing.B) {
	r := New(nil)
	id, err := r.Arm(Fault{
		Action: Panic, Point: Point{Path: "mcpd/tenants/acme/request_manager"}, Lease: time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Disarm(id)
	b.ReportAllocs()
	for b.Loop() {
		r.BeforeReceive("mcpd/tenants/globex/request_manager", nil)
	}
}
