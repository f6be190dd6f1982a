package otp

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Two processes that pass to each other without end keep the processor from a third one only for
// some of their messages.
func TestWhoPassToEachOtherStarveNobody(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const begin, most = 1000, 1_000_000
	sys := NewSystem(Options{})
	defer sys.Close()
	var passed atomic.Int64
	heard := make(chan int64, 1)
	ref := func(id string) Ref {
		ref, ok := sys.Whereis("top/" + id)
		if !ok {
			t.Errorf("there is no %s", id)
		}
		return ref
	}
	passes := func(to string) Start {
		return scriptWorker(script{receive: func(p *Process, msg any) error {
			switch n := passed.Add(1); {
			case n == begin:
				_ = ref("c").Send(1)
			case n > most || n > begin && len(heard) > 0:
				return nil
			}
			return p.Pass(ref(to), msg)
		}})
	}
	listens := scriptWorker(script{receive: func(*Process, any) error {
		heard <- passed.Load() - begin
		return nil
	}})
	if _, err := sys.Start(t.Context(), "top",
		Spec{Children: []Child{{ID: "a", Start: passes("b")}, {ID: "b", Start: passes("a")},
			{ID: "c", Start: listens}}}); err != nil {
		t.Fatal(err)
	}
	send(t, ref("a"), 1)
	if n := <-heard; n > 5*maxTurns {
		t.Errorf("%d messages were passed before a third was heard", n)
	}
}

// A process is not left waiting for a goroutine that was isolated between the check for that and
// the pass.
func TestIsolatedWorkerKeepsNobodyWaiting(t *testing.T) {
	var here *Process
	gate := make(chan struct{})
	spec := Spec{
		Intensity: Intensity{5, time.Hour},
		Children: []Child{
			{ID: "b", Start: scriptWorker(script{})}, {ID: "a", Start: scriptWorker(script{})},
		},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		gate = make(chan struct{})
		runInActor(t, r.ref("a"), func(p *Process) error { here = p; <-gate; return nil })
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		if r.ref("a").Incarnation() != 2 {
			t.Fatalf("tree %s", r.state())
		}
		here.guard.mailbox.handOver(&r.ref("b").row.proc.Load().mailbox)
		heard := false
		runInActor(t, r.ref("b"), func(*Process) error { heard = true; return nil })
		if !heard {
			t.Error("who was passed to waits for it")
		}
		close(gate)
	})
}

// A supervisor's goroutine continues with the child that it has started, and with the next child as
// soon as the first is ready.
func TestTheGoroutineGoesOnWithWhoIsStarted(t *testing.T) {
	var on []string
	child := scriptWorker(script{init: func(*Process) error {
		on = append(on, goroutineID())
		return nil
	}})
	sup := SupervisorFunc(func() Spec {
		on = append(on, goroutineID())
		return Spec{Children: []Child{{ID: "a", Start: child}, {ID: "b", Start: child}}}
	})
	runTree(t, oneChild(Child{ID: "s", Start: sup}), func(t *testing.T, r *rig) {
		on = nil
		if err := TerminateChild(context.Background(), r.tree.Ref(), "s"); err != nil {
			t.Fatal(err)
		}
		if _, err := RestartChild(context.Background(), r.tree.Ref(), "s"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(on) < 3 || on[1] != on[0] || on[2] != on[0] {
			t.Errorf("started on goroutines %v", on)
		}
	})
}
