package otp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStartRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		ctx := context.Background()
		r.start("one_for_one { a }")
		if _, err := r.sys.Start(ctx, "top", Spec{}); !errors.Is(err, errDuplicate) {
			t.Errorf("a second tree of the name: %v", err)
		}
		if _, err := r.sys.Start(ctx, "a/b", Spec{}); err == nil {
			t.Error("a slash in the name")
		}
		if _, err := r.sys.Start(ctx, "b", oneChild(Child{})); err == nil {
			t.Error("a bad spec")
		}
		r.sys.Close()
		if _, err := r.sys.Start(ctx, "b", Spec{}); !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestAStartEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		var ended []string
		slow := script{
			init:      func(*Process) error { time.Sleep(2 * time.Second); return nil },
			terminate: func(p *Process, _ error) { ended = append(ended, p.Path()) },
		}
		_, err := r.sys.Start(ctx, "top", Spec{
			Children: []Child{{ID: "a", Start: scriptWorker(slow)}, {ID: "b", Start: scriptWorker(slow)}},
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if strings.Join(ended, " ") != "top/b top/a" {
			t.Errorf("ended %v", ended)
		}
	})
}

func TestShutdownEndsWithItsContextAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.start("one_for_one { a 9s }")
		r.do("stick a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := r.tree.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if r.tree.Err() != nil {
			t.Error("ended already")
		}
		time.Sleep(8 * time.Second)
		<-r.tree.Done()
		if r.tree.Err() != ErrShutdown {
			t.Errorf("ended with %v", r.tree.Err())
		}
	})
}

func TestWhereis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.start("one_for_one 9/1h { s sup one_for_one 0/1h { a } }")
		for path, want := range map[string]bool{
			"top": true, "top/s": true, "top/s/a": true, "": false, "top/": false, "top/a": false,
			"top/s/a/b": false, "x": false,
		} {
			if ref, ok := r.sys.Whereis(path); ok != want || ok && ref.Path() != path {
				t.Errorf("Whereis(%q) = %v, %v, want %v", path, ref, ok, want)
			}
		}
	})
}

// A Ref is an address: it survives restarts of its row and of the supervisors above, with its
// counters.
func TestARefSurvivesItsSupervisorsRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.start("one_for_one 9/1h { s sup one_for_one 1/1h { a; b } }")
		ref := r.ref("s/a")
		r.do("crash s/a")
		r.do("crash s/a")
		if !ref.Alive() || ref.Incarnation() != 3 || ref != r.ref("s/a") {
			t.Errorf("alive %v, incarnation %d", ref.Alive(), ref.Incarnation())
		}
		s := r.tree.Snapshot().Children[0]
		if s.Restarts != 1 || s.Children[0].Restarts != 1 || s.Children[1].Restarts != 0 {
			t.Errorf("restarts %d, %d, %d", s.Restarts, s.Children[0].Restarts, s.Children[1].Restarts)
		}
	})
}

func TestSnapshotShowsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		gate := make(chan struct{})
		spec := Spec{Strategy: RestForOne,
			Children: []Child{{ID: "a", Label: "class", Restart: Transient, Start: scriptWorker(script{
				init:    func(p *Process) error { p.SetStatus("fine"); return nil },
				receive: func(*Process, any) error { <-gate; return nil },
			})}}}
		r.tree, r.err = r.sys.Start(context.Background(), "top", spec)
		other, err := r.sys.Start(context.Background(), "other", Spec{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_ = r.ref("a").Send(1)
		}
		synctest.Wait()
		all := r.sys.Snapshot()
		if len(all.Children) != 2 || all.Children[0].ID != "top" || all.Children[1].ID != "other" {
			t.Fatalf("trees %+v", all.Children)
		}
		top, a := all.Children[0], all.Children[0].Children[0]
		if top.Strategy != RestForOne || top.Type != SupervisorType || top.Status != Running ||
			top.Restart != Temporary {
			t.Errorf("root %+v", top)
		}
		want := Node{ID: "a", Path: "top/a", Label: "class", Restart: Transient, Status: Running,
			Since:       a.Since,
			Incarnation: 1, Mailbox: 2, Extra: "fine"}
		if fmt.Sprint(a) != fmt.Sprint(want) || !a.Since.Equal(time.Now()) {
			t.Errorf("got  %+v\nwant %+v", a, want)
		}
		var paths []string
		all.Walk(func(n Node) bool { paths = append(paths, n.Path); return n.Path != "top/a" })
		if got := strings.Join(paths, ","); got != ",top,top/a" {
			t.Errorf("walked %s", got)
		}
		close(gate)
		_ = other.Shutdown(context.Background())
		if n := r.sys.Snapshot().Children[1]; n.Status != Stopped {
			t.Errorf("a tree that ended is %s", n.Status)
		}
		if other.Ref().Alive() {
			t.Error("alive")
		}
	})
}

func TestATreesNameCanBeUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.start("one_for_one { a; b }")
		ref := r.ref("a")
		_ = r.tree.Shutdown(context.Background())
		r.start("one_for_one { b; c; a }")
		if got := r.state(); got != "b#2 c#1 a#2" {
			t.Errorf("tree %s", got)
		}
		if !ref.Alive() {
			t.Error("the old address is dead")
		}
	})
}

func TestEventsTellTheStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.start("one_for_one 1/1h { s sup one_for_one 1/1h { a } }")
		r.do("crash s/a")
		r.do("crash s/a")
		var story []string
		for _, e := range r.events {
			story = append(story, strings.TrimPrefix(fmt.Sprintf("%T %s", e, e.Where()), "otp."))
		}
		want := []string{
			"ChildStarted top/s/a", "ChildStarted top/s",
			"ChildExited top/s/a", "ChildRestarted top/s/a",
			"ChildExited top/s/a", "IntensityExceeded top/s", "SupervisorStopped top/s", "ChildExited top/s",
			"ChildStarted top/s/a", "ChildRestarted top/s",
		}
		if got := strings.Join(story, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("got\n%s", got)
		}
		exceeded := ofType[IntensityExceeded](r)[0].Err
		if exceeded.Path != "top/s" || exceeded.Child != "a" || !errors.Is(exceeded, ErrIntensity) {
			t.Errorf("exceeded %+v", exceeded)
		}
		if got := exceeded.Error(); got !=
			"top/s: more than 1 restarts in 1h0m0s: a: top/s/a: otp.order: panic: crash" {
			t.Errorf("says %q", got)
		}
	})
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Transient.String(): "transient", RestForOne.String(): "rest_for_one",
		AnySignificant.String(): "any_significant",
		SupervisorType.String(): "supervisor", StatusAbandoned.String(): "abandoned",
		Restart(9).String(): "invalid(9)",
		verb(200).String():  "invalid(200)", dead.String(): "dead",
		(&AbandonedError{"a", time.Second}).Error():        "a: not stopped within 1s",
		ShutdownWith(errTest).Error():                      "shutdown: test",
		(&StartError{"a", errTest}).Error():                "start of a: test",
		(&SpecError{"a", "id", "empty"}).Error():           "a: id: empty",
		(&CrashReport{Path: "a", Reason: errTest}).Error(): "a: test",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Children of a pool stop in parallel, and there may be many.
func TestALargePoolStops(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	sys := NewSystem(Options{})
	defer sys.Close()
	ctx := context.Background()
	tree, err := sys.Start(ctx, "top", Spec{
		Strategy: SimpleOneForOne, Children: []Child{{Restart: Temporary, Start: scriptWorker(script{})}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := StartChildArgs(ctx, tree.Ref(), fmt.Sprint(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := CountChildren(ctx, tree.Ref()); err != nil || c.Active != n {
		t.Errorf("%d active, %v", c.Active, err)
	}
	if got := len(tree.Snapshot().Children); got != n {
		t.Errorf("snapshot shows %d", got)
	}
	start := time.Now()
	if err := tree.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("%d children stopped in %s", n, time.Since(start))
	if got := len(tree.Snapshot().Children); got != 0 {
		t.Errorf("%d rows left", got)
	}
}

// TestSoak does everything at once for the race detector: crashes, calls, starts, stops, snapshots.
// At the end every caller has an answer, and the tree stops.
func TestSoak(t *testing.T) {
	sys := NewSystem(Options{Events: func(Event) {}})
	defer sys.Close()
	many := Intensity{MaxRestarts, time.Millisecond}
	work := func() Start {
		return scriptWorker(script{receive: func(p *Process, msg any) error {
			c, ok := msg.(*Call[int, int])
			if !ok {
				return nil
			}
			switch c.Req % 7 {
			case 0:
				panic("soak")
			case 1:
				return errTest
			case 2:
				c.AnswerLater()
				p.Go("x", func(ctx context.Context) error { c.Reply(1); return nil })
			case 3:
				p.After(time.Microsecond, 1)
				p.SetCarriedState(c.Req)
				c.Reply(1)
			default:
				c.Reply(1)
			}
			return nil
		}})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tree, err := sys.Start(ctx, "top", Spec{Intensity: many, Children: []Child{
		{ID: "a", Start: work()},
		{ID: "all", Start: Supervisor(Spec{
			Strategy: OneForAll, Intensity: many,
			Children: []Child{{ID: "b", Start: work()}, {ID: "c", Start: work()}},
		})},
		{ID: "rest", Start: Supervisor(Spec{
			Strategy: RestForOne, Intensity: Intensity{3, time.Millisecond},
			Children: []Child{{ID: "d", Start: work()}, {ID: "e", Start: work()}},
		})},
		{ID: "pool", Start: Supervisor(Spec{
			Strategy: SimpleOneForOne, Intensity: many,
			Children: []Child{{Restart: Transient, Start: work()}},
		})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 1))
			paths := []string{
				"top/a", "top/all/b", "top/all/c", "top/rest/d", "top/rest/e", "top/pool/0", "top/pool/1",
			}
			pool, _ := sys.Whereis("top/pool")
			for range 400 {
				id := fmt.Sprint(rnd.IntN(3))
				switch rnd.IntN(12) {
				case 0:
					_, _ = StartChildArgs(ctx, pool, id, nil)
				case 1:
					_ = TerminateChild(ctx, pool, id)
				case 2:
					sys.Snapshot()
				default:
					ref, _ := sys.Whereis(paths[rnd.IntN(len(paths))])
					if _, err := Do[int, int](ctx, ref, rnd.IntN(100)); errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: a call was not answered", ref)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := tree.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
