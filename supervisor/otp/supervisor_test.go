package otp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mcpd/internal/fault"
)

// faulty is a rig with a fault registry.
func faulty(t *testing.T, spec Spec, f func(t *testing.T, r *rig, faults *fault.Registry)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		faults := fault.New(nil)
		r.sys = NewSystem(Options{Events: r.event, Faults: faults, Throughput: 1})
		defer r.close()
		r.tree, r.err = r.sys.Start(context.Background(), "top", spec)
		f(t, r, faults)
		for _, a := range faults.Active() {
			faults.Disarm(a.ID)
		}
	})
}

func TestAnInjectedPanicIsACrashLikeAnyOther(t *testing.T) {
	faulty(t, oneChild(Child{ID: "a", Start: counter()}),
		func(t *testing.T, r *rig, faults *fault.Registry) {
			f := fault.Fault{
				Action: fault.Panic, Point: fault.Point{Path: "top/a"}, Count: 1, Lease: time.Minute,
			}
			if _, err := faults.Arm(f); err != nil {
				t.Fatal(err)
			}
			_, err := Do[string, int](context.Background(), r.ref("a"), "x")
			var injected fault.Injected
			if !errors.As(err, &injected) || injected.Where != "top/a" {
				t.Errorf("got %v", err)
			}
			if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 1 || err != nil {
				t.Errorf("next message: %d, %v", n, err)
			}
		})
}

func TestASupervisorThatCrashesStopsItsChildrenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		faults := fault.New(nil)
		r.sys = NewSystem(Options{Events: r.event, Faults: faults})
		defer r.close()
		r.start("one_for_one 3/1h { z; s sup one_for_one 3/1h { a; b } }")
		_, _ = faults.Arm(fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "top/s"}, Count: 1, Lease: time.Minute,
		})
		r.do("count @s")
		trace := r.outcome()
		before, after, _ := strings.Cut(trace, "specs 0 ")
		if before != "+z +a +b -b(shutdown) -a(shutdown) -s(crash) " && after == "" {
			t.Errorf("trace %s", trace)
		}
		if !strings.Contains(after, "injected panic fault-1 at top/s") ||
			r.state() != "z#1 s#2{a#2 b#2}" {
			t.Errorf("trace %s", trace)
		}
	})
}

// Only a bug of this package can make the end of a supervisor panic. Then the supervisor abandons
// its children and ends.
func TestASupervisorThatCannotStopCollapses(t *testing.T) {
	sub := Spec{
		Children: []Child{
			{ID: "a", Start: scriptWorker(script{})}, {ID: "b", Start: scriptWorker(script{})},
		},
	}
	runTree(t, oneChild(Child{ID: "s", Start: Supervisor(sub)}), func(t *testing.T, r *rig) {
		r.ref("s/a").row.proc.Load().child.driver.guard = nil // the bug: stopping it dereferences nil
		old := r.ref("s/b")
		if err := TerminateChild(context.Background(), r.tree.Ref(), "s"); err != nil {
			t.Errorf("terminate: %v", err)
		}
		if got := r.state(); got != "s:stopped" {
			t.Errorf("tree %s", got)
		}
		if old.Alive() {
			t.Error("a child survived")
		}
		if n := len(ofType[TerminatePanicked](r)); n != 1 {
			t.Errorf("%d reports of the bug", n)
		}
		if _, err := RestartChild(context.Background(), r.tree.Ref(), "s"); err != nil {
			t.Error(err)
		}
		if got := r.state(); got != "s#2{a#2 b#2}" {
			t.Errorf("tree %s", got)
		}
	})
}

func TestASubtreeFromArguments(t *testing.T) {
	template := Child{Restart: Permanent, Start: SupervisorWith(func(args any) Spec {
		switch n := args.(type) {
		case int:
			s := Spec{}
			for i := range n {
				s.Children = append(s.Children, Child{ID: fmt.Sprint(i), Start: scriptWorker(script{})})
			}
			return s
		case nil:
			return Spec{Children: []Child{{ID: "no start"}}}
		}
		panic("bad arguments")
	})}
	spec := Spec{
		Intensity: Intensity{9, time.Hour}, Strategy: SimpleOneForOne, Children: []Child{template},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		ctx := context.Background()
		if _, err := StartChildArgs(ctx, r.tree.Ref(), "x", 2); err != nil {
			t.Error(err)
		}
		var start *StartError
		if _, err := StartChildArgs(ctx, r.tree.Ref(), "y", "bad"); !errors.As(err, &start) {
			t.Errorf("panic in the function: %v", err)
		}
		var bad *SpecError
		if _, err := StartChildArgs(ctx, r.tree.Ref(), "z", nil); !errors.As(err, &bad) ||
			bad.Field != "start" {
			t.Errorf("bad spec: %v", err)
		}
		if got := r.state(); got != "x#1{0#1 1#1}" {
			t.Errorf("tree %s", got)
		}
		for range 2 { // oneChild too many for x, whose intensity is the default
			runInActor(t, r.ref("x/1"), func(*Process) error { return errTest })
		}
		if got := r.state(); got != "x#2{0#2 1#3}" {
			t.Errorf("tree %s", got)
		}
	})
}

func TestArgumentsReachTheWorkerAtEveryStart(t *testing.T) {
	var seen []any
	template := Child{Start: WorkerWith(func(args any) Behaviour {
		seen = append(seen, args)
		return &script{}
	})}
	spec := Spec{
		Intensity: Intensity{9, time.Hour}, Strategy: SimpleOneForOne, Children: []Child{template},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		seen = nil
		ref, err := StartChildArgs(context.Background(), r.tree.Ref(), "x", 42)
		if err != nil || ref != r.ref("x") {
			t.Fatal(ref, err)
		}
		runInActor(t, ref, func(*Process) error { return errTest })
		if len(seen) != 2 || seen[0] != 42 || seen[1] != 42 {
			t.Errorf("seen %v", seen)
		}
	})
}

func TestAdministrationRefuses(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		ctx := context.Background()
		if err := DeleteChild(ctx, r.ref("a"), "x"); err != ErrNotSupervisor {
			t.Errorf("of a worker: %v", err)
		}
		if _, err := WhichChildren(ctx, Ref{}); err != ErrNoProc {
			t.Errorf("of nothing: %v", err)
		}
		_, err := StartChild(ctx, r.tree.Ref(), Child{ID: "a", Start: scriptWorker(script{})})
		var already ErrAlreadyStarted
		if !errors.As(err, &already) || already.Ref != r.ref("a") ||
			err.Error() != "already started: top/a" {
			t.Errorf("again: %v", err)
		}
		msg := &failer{}
		_ = r.tree.Ref().Send(msg)
		synctest.Wait()
		if msg.err != ErrUnhandled {
			t.Errorf("a message to a supervisor: %v", msg.err)
		}
	})
	pool := Spec{Strategy: SimpleOneForOne, Children: []Child{{Start: scriptWorker(script{})}}}
	runTree(t, pool, func(t *testing.T, r *rig) {
		var bad *SpecError
		if _, err := StartChildArgs(context.Background(), r.tree.Ref(), "a/b",
			nil); !errors.As(err, &bad) {
			t.Errorf("bad id: %v", err)
		}
	})
}

func TestAdministrationFromInsideAnActor(t *testing.T) {
	rec := &recorder{}
	spec := Spec{Children: []Child{
		{ID: "a", Start: rec.start()},
		{ID: "s", Start: Supervisor(Spec{})},
		{ID: "p", Start: Supervisor(Spec{
			Strategy: SimpleOneForOne, Children: []Child{{Start: scriptWorker(script{})}},
		})},
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		said := func(label string) func(error) any {
			return func(err error) any { return fmt.Sprint(label, " ", err) }
		}
		refd := func(label string) func(Ref, error) any {
			return func(ref Ref, err error) any { return fmt.Sprint(label, " ", ref, " ", err) }
		}
		s, p := r.ref("s"), r.ref("p")
		for _, f := range []func(*Process){
			func(q *Process) {
				StartChildAsync(q, s, Child{ID: "x", Start: scriptWorker(script{})}, refd("start"))
			},
			func(q *Process) { StartChildArgsAsync(q, p, "y", nil, refd("args")) },
			func(q *Process) { TerminateChildAsync(q, s, "x", said("terminate")) },
			func(q *Process) { RestartChildAsync(q, s, "x", refd("restart")) },
			func(q *Process) { DeleteChildAsync(q, s, "x", said("delete")) },
			func(q *Process) { DeleteChildAsync(q, r.ref("a"), "x", said("worker")) },
		} {
			runInActor(t, r.ref("a"), func(q *Process) error { f(q); return nil })
		}
		rec.expect(t, "1:start top/s/x <nil>", "1:args top/p/y <nil>", "1:terminate <nil>",
			"1:restart top/s/x <nil>",
			"1:delete running", "1:worker not a supervisor")
	})
}

func TestAStrangersDeathIsNoneOfASupervisorsBusiness(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		g := r.tree.Ref().row.proc.Load()
		for _, id := range []string{"stranger", "1", "2", "top/a"} {
			g.mailbox.PostSystemMessage(&actor.Terminated{Who: actor.NewPID("nonhost", id)})
		}
		g.mailbox.PostSystemMessage(&actor.Failure{
			Who: actor.NewPID("nonhost", "stranger"), Reason: "no exit",
		})
		g.mailbox.PostSystemMessage("nonsense")
		synctest.Wait()
		if got := r.state(); got != "a#1" {
			t.Errorf("tree %s", got)
		}
	})
}

// If the spec function of a supervisor fails, the rows of the incarnation before are kept, so that
// their addresses stay valid.
func TestRowsSurviveASpecThatFailsOnce(t *testing.T) {
	n := 0
	sub := SupervisorWith(func(any) Spec {
		if n++; n == 2 {
			panic("not now")
		}
		return Spec{
			Intensity: Intensity{0, time.Second},
			Children:  []Child{{ID: "a", Start: scriptWorker(script{})}},
		}
	})
	spec := Spec{
		Strategy: SimpleOneForOne, Intensity: Intensity{9, time.Hour}, Children: []Child{{Start: sub}},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		n = 0
		if _, err := StartChildArgs(context.Background(), r.tree.Ref(), "s", nil); err != nil {
			t.Fatal(err)
		}
		ref := r.ref("s/a")
		runInActor(t, ref, func(*Process) error { return errTest })
		if got := r.state(); got != "s#3{a#2}" || !ref.Alive() {
			t.Errorf("tree %s, old address alive %v", got, ref.Alive())
		}
	})
}

func TestAStartThatIgnoresHasNoAddressInAPool(t *testing.T) {
	pool := Spec{Strategy: SimpleOneForOne,
		Children: []Child{{Start: scriptWorker(script{init: func(*Process) error {
			return Ignore
		}})}}}
	runTree(t, pool, func(t *testing.T, r *rig) {
		ref, err := StartChildArgs(context.Background(), r.tree.Ref(), "a", nil)
		if !ref.IsZero() || err != nil {
			t.Errorf("got %v, %v", ref, err)
		}
	})
}
