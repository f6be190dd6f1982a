package otp

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Each failure domain has room for MaxIsolated stuck processes as long as the total allows it. When
// the total runs out, the domain with the fewest is refused last.
func TestRoomForTheHung(t *testing.T) {
	const last = MaxIsolatedTotal - 1
	for _, c := range []struct {
		own, all int
		want     bool
	}{
		{0, 0, true}, {1, 1, true},
		{MaxIsolated - 1, MaxIsolated - 1, true}, {MaxIsolated, MaxIsolated, false},
		{MaxIsolated + 9, MaxIsolated, false},
		{0, MaxIsolated, true}, {MaxIsolated - 1, MaxIsolatedTotal - MaxIsolated, true},
		{MaxIsolated - 2, MaxIsolatedTotal - MaxIsolated + 1, true},
		{MaxIsolated - 1, MaxIsolatedTotal - MaxIsolated + 1, false},
		{9, last - 9, true}, {10, last - 9, false},
		{0, last, true}, {1, last, false}, {0, MaxIsolatedTotal, false},
	} {
		if got := mayReplace(c.own, c.all); got != c.want {
			t.Errorf("own %d of %d: %t", c.own, c.all, got)
		}
	}
}

// However many processes are stuck in one failure domain, and in a few others, another domain is
// refused nothing as long as some of the total is left.
func TestNoFailureDomainUsesTheLimitOfAnother(t *testing.T) {
	for greedy := range MaxIsolatedTotal/MaxIsolated + 10 {
		all := 0
		own := make([]int, greedy)
		for more := true; more; {
			more = false
			for i := range own {
				if mayReplace(own[i], all) {
					own[i]++
					all++
					more = true
				}
			}
		}
		if greedy < MaxIsolatedTotal/MaxIsolated && all != greedy*MaxIsolated || all > MaxIsolatedTotal {
			t.Errorf("%d have %d", greedy, all)
		}
		if !mayReplace(0, all) && all < MaxIsolatedTotal {
			t.Errorf("%d have %d, and who has none is refused", greedy, all)
		}
	}
}

// walls is a tree with two failure domains and one worker outside of them. Each worker can be made
// to hang.
func walls(d *diary) Spec {
	often := Intensity{1000, time.Second}
	worker := Child{ID: "w", Start: d.start()}
	wall := func(id string) Child {
		return Child{
			ID: id, FailureDomain: true,
			Start: Supervisor(Spec{Intensity: often, Children: []Child{worker}}),
		}
	}
	return Spec{Intensity: often, Children: []Child{
		{ID: "t", Start: Supervisor(Spec{Intensity: often, Children: []Child{wall("x"), wall("y")}})},
		{ID: "c", Start: Supervisor(Spec{Intensity: often, Children: []Child{worker}})},
	}}
}

// Repeated hangs in one failure domain finally end its supervisor. A stuck worker elsewhere is
// still replaced by its own supervisor.
func TestStuckGoroutinesOfAFailureDomainCostNoOther(t *testing.T) {
	d := &diary{}
	runTree(t, walls(d), func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		hung := func(id string) {
			h := newHang()
			h.gate = gate
			send(t, r.ref(id), h)
			time.Sleep(DefaultHardTimeout + 2*time.Second)
			synctest.Wait()
		}
		for n := range MaxIsolated + 3 {
			hung("t/x/w")
			if got, want := r.ref("t/x").Incarnation(), uint64(max(1, n+2-MaxIsolated)); got != want {
				t.Fatalf("incarnation %d of its supervisor after %d, want %d", got, n+1, want)
			}
		}
		hung("t/y/w")
		hung("c/w")
		if r.ref("t/y").Incarnation() != 1 || r.ref("c").Incarnation() != 1 ||
			r.ref("t").Incarnation() != 1 || r.ref("t/y/w").Incarnation() != 2 ||
			r.ref("c/w").Incarnation() != 2 {
			t.Errorf("tree %s", r.state())
		}
		if _, err := StartChild(context.Background(), r.ref("t"),
			Child{ID: "z", Start: scriptWorker(script{})}); err != nil {
			t.Errorf("another bulkhead's neighbour: %v", err)
		}
		if got, want := r.sys.Isolated(), MaxIsolated+5; got != want ||
			r.sys.isolatedInDomains.Load() != MaxIsolated+1 {
			t.Errorf("%d hung, want %d; %d counted", got, want, r.sys.isolatedInDomains.Load())
		}
		close(gate)
		synctest.Wait()
		if r.sys.Isolated() != 0 || r.sys.isolatedInDomains.Load() != 0 ||
			r.tree.row.domainIsolated.Load() != 0 ||
			r.ref("t/x").row.domainIsolated.Load() != 0 {
			t.Errorf("%d hung, %d counted after all came back", r.sys.Isolated(),
				r.sys.isolatedInDomains.Load())
		}
	})
}

// All stuck processes in a failure domain count against the same limit, whichever worker they are
// incarnations of.
func TestStuckGoroutinesOfAFailureDomainAreCounted(t *testing.T) {
	d := &diary{}
	often := Intensity{1000, time.Second}
	below := Child{
		ID:    "s",
		Start: Supervisor(Spec{Intensity: often, Children: []Child{{ID: "c", Start: d.start()}}}),
	}
	wall := Spec{
		Intensity: often,
		Children:  []Child{{ID: "a", Start: d.start()}, {ID: "b", Start: d.start()}, below},
	}
	runTree(t, oneChild(Child{ID: "x", FailureDomain: true, Start: Supervisor(wall)}),
		func(t *testing.T, r *rig) {
			gate := make(chan struct{})
			ids := []string{"x/a", "x/b", "x/s/c"}
			for n := range MaxIsolated + 1 {
				h := newHang()
				h.gate = gate
				send(t, r.ref(ids[n%3]), h)
				time.Sleep(DefaultHardTimeout + 2*time.Second)
				synctest.Wait()
				want := uint64(1)
				if n == MaxIsolated {
					want = 2
				}
				if got := r.ref("x").Incarnation(); got != want {
					t.Fatalf("incarnation %d of its supervisor after %d, want %d", got, n+1, want)
				}
			}
			close(gate)
		})
}

// A supervisor that hangs is not replaced either when there is no room. The supervisor above gives
// up.
func TestASupervisorThatHangsIsCountedToo(t *testing.T) {
	var g gated
	often := Intensity{1000, time.Second}
	below := Supervisor(Spec{
		Intensity: often, Children: []Child{{ID: "y", Restart: Temporary, Start: scriptWorker(script{})}},
	})
	wall := Supervisor(Spec{Intensity: often, Children: []Child{{ID: "s", Start: below}}})
	runTree(t, oneChild(Child{ID: "x", FailureDomain: true, Start: wall}), func(t *testing.T, r *rig) {
		x := r.ref("x").row
		for n := range uint64(2) {
			g.set(make(chan struct{}))
			runInActor(t, r.ref("x/s/y"), func(p *Process) error {
				p.SetCarriedState(stubborn{&g})
				return Normal
			})
			time.Sleep(DefaultHardTimeout + 2*time.Second)
			synctest.Wait()
			if got := r.ref("x").Incarnation(); got != n+1 {
				t.Errorf("incarnation %d with room for %d", got, 1-n)
			}
			close(g.set(nil))
			synctest.Wait()
			for range MaxIsolated {
				x.countIsolated(1 - 2*int32(n))
			}
		}
	})
}

// When all room in failure domains is used up, no domain gets more. Workers outside of them are
// replaced as before.
func TestIsolatedGoroutinesOfAllDomainsAreBounded(t *testing.T) {
	d := &diary{}
	runTree(t, walls(d), func(t *testing.T, r *rig) {
		top := r.tree.row
		var others []*row
		for n := range MaxIsolatedTotal / MaxIsolated {
			o := newRow(r.sys, top, nil, fmt.Sprint("o", n), &Child{FailureDomain: true}, nil)
			others = append(others, o)
			for range MaxIsolated + 1 { // oneChild more than counts against others; it returns
				o.countIsolated(1)
			}
			o.countIsolated(-1)
		}
		gate := make(chan struct{})
		for _, id := range []string{"t/x/w", "c/w"} {
			h := newHang()
			h.gate = gate
			send(t, r.ref(id), h)
		}
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if got := r.state(); r.ref("t/x").Incarnation() != 2 || r.ref("c").Incarnation() != 1 ||
			r.ref("c/w").Incarnation() != 2 {
			t.Errorf("tree %s, %d counted", got, r.sys.isolatedInDomains.Load())
		}
		close(gate)
		for _, o := range others {
			for range MaxIsolated {
				o.countIsolated(-1)
			}
		}
		synctest.Wait()
		if r.sys.isolatedInDomains.Load() != 0 || r.sys.Isolated() != 0 {
			t.Errorf("%d counted, %d hung at the end", r.sys.isolatedInDomains.Load(), r.sys.Isolated())
		}
	})
}

// A full failure domain does not affect a restart elsewhere that hangs.
func TestHungRestartIsTriedAgainBesideAFullFailureDomain(t *testing.T) {
	var g gated
	d := &diary{}
	spec := walls(d)
	spec.Children = append(spec.Children,
		Child{ID: "r", FailureDomain: true,
			Start: Supervisor(Spec{Intensity: Intensity{10, time.Hour}, Children: []Child{
				{ID: "w", Start: scriptWorker(script{init: func(*Process) error { g.wait(); return nil }})},
			}})})
	runTree(t, spec, func(t *testing.T, r *rig) {
		x := r.ref("t/x").row
		for range MaxIsolated {
			x.countIsolated(1)
		}
		g.set(make(chan struct{}))
		runInActor(t, r.ref("r/w"), func(*Process) error { return errTest })
		time.Sleep(DefaultStartTimeout + time.Second)
		gate := g.set(nil)
		time.Sleep(DefaultStartTimeout + time.Second)
		close(gate)
		synctest.Wait()
		if r.ref("r").Incarnation() != 1 || !r.ref("r/w").Alive() {
			t.Errorf("tree %s", r.state())
		}
		for range MaxIsolated {
			x.countIsolated(-1)
		}
	})
}
