package otp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stuckWorker blocks in a *failer message until gate is closed. Then it runs after, whose calls
// must not have an effect any more.
func stuckWorker(gate chan struct{}, after func(*Process)) Start {
	return scriptWorker(script{receive: func(p *Process, msg any) error {
		if _, ok := msg.(*failer); ok {
			<-gate
			after(p)
		}
		return nil
	}})
}

func TestIsolatedWorkerHasNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newRig(t)
		defer r.close()
		stuck := stuckWorker(gate, func(p *Process) {
			p.SetCarriedState("wrong")
			p.SetStatus("wrong")
			p.After(0, "wrong")
			p.Monitor(r.tree.Ref())
			p.Go("wrong", func(context.Context) error { t.Error("a goroutine was started"); return nil })
			if err := p.Post("wrong"); err != ErrNoProc {
				t.Errorf("post: %v", err)
			}
			panic("and a crash for good measure")
		})
		r.tree, r.err = r.sys.Start(context.Background(), "top",
			oneChild(Child{ID: "a", Shutdown: time.Second, Start: stuck}))
		ref, top := r.ref("a"), r.tree.Ref()
		watcher := make(chan Down, 1)
		if _, err := StartChild(context.Background(), top, Child{ID: "w", Start: scriptWorker(script{
			init:    func(p *Process) error { p.Monitor(ref); return nil },
			receive: func(_ *Process, msg any) error { watcher <- msg.(Down); return nil },
		})}); err != nil {
			t.Fatal(err)
		}
		held, waiting := &failer{}, &failer{}
		_ = ref.Send(held)
		_ = ref.Send(waiting)
		synctest.Wait()
		err := TerminateChild(context.Background(), top, "a")
		var abandoned *AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Path != "top/a" || abandoned.Time != time.Second ||
			!errors.Is(err, ErrKilled) {
			t.Errorf("terminate: %v", err)
		}
		synctest.Wait()
		if held.err != ErrKilled || waiting.err != ErrKilled {
			t.Errorf("held message %v, waiting message %v, want both killed", held.err, waiting.err)
		}
		if d := <-watcher; d.Reason != ErrKilled || d.Incarnation != 1 {
			t.Errorf("down %+v", d)
		}
		if got := r.state(); got != "a:abandoned w#1" {
			t.Errorf("tree %s", got)
		}
		if ref.Alive() || ref.Send(1) != ErrNoProc {
			t.Error("still takes messages")
		}
		if e := ofType[Abandoned](r); len(e) != 1 || e[0].Path != "top/a" || e[0].Goroutine != "" {
			t.Errorf("events %+v", e)
		}
		if _, err := RestartChild(context.Background(), top, "a"); err != nil {
			t.Errorf("the row cannot be used again: %v", err)
		}
		close(gate)
		synctest.Wait()
		runInActor(t, ref, func(p *Process) error {
			if p.CarriedState() != nil || p.Incarnation() != 2 {
				t.Errorf("carried state %v in incarnation %d", p.CarriedState(), p.Incarnation())
			}
			return nil
		})
		if n := r.tree.Snapshot().Children[0]; n.Extra != nil || n.Status != Running {
			t.Errorf("status %v, extra %v", n.Status, n.Extra)
		}
	})
}

func TestAStuckInitIsAbandonedAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newRig(t)
		starts := 0
		start := Worker(func() Behaviour {
			starts++
			n := starts
			return &script{init: func(p *Process) error {
				if n == 2 {
					<-gate
				}
				return nil
			}}
		})
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(Child{
			ID: "a", StartTimeout: 3 * time.Second, Start: start,
		}))
		ref := r.ref("a")
		runInActor(t, ref, func(*Process) error { return errTest })
		waiting := &failer{}
		_ = ref.Send(waiting)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := r.state(); got != "a#3" {
			t.Errorf("tree %s, want a new process", got)
		}
		if waiting.err != nil || r.ref("a").row.proc.Load().mailbox.UserMessageCount() != 0 {
			t.Errorf("message to the abandoned process: %v, want it to be handled by its successor",
				waiting.err)
		}
		if e := ofType[Abandoned](r); len(e) != 1 || e[0].Budget != 3*time.Second {
			t.Errorf("events %+v", e)
		}
		close(gate)
		synctest.Wait()
		if got := r.state(); got != "a#3" {
			t.Errorf("tree %s after the late Init returned", got)
		}
		r.close()
	})
}

// A subtree that does not stop within the Shutdown of its supervisor's row is abandoned as a whole.
func TestAnAbandonedSupervisorTakesItsSubtreeAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newRig(t)
		sub := Spec{Children: []Child{
			{ID: "b", Start: scriptWorker(script{})},
			{ID: "t", Start: Supervisor(Spec{Children: []Child{
				{ID: "c", Shutdown: Infinity, Start: stuckWorker(gate, func(*Process) {})},
			}})},
		}}
		r.tree, r.err = r.sys.Start(context.Background(), "top", Spec{Children: []Child{
			{ID: "a", Start: scriptWorker(script{})},
			{ID: "s", Shutdown: 2 * time.Second, Start: Supervisor(sub)},
		}})
		b, c := r.ref("s/b"), r.ref("s/t/c")
		_ = c.Send(&failer{})
		synctest.Wait()
		if err := TerminateChild(context.Background(), r.tree.Ref(), "s"); !errors.Is(err, ErrKilled) {
			t.Errorf("terminate: %v", err)
		}
		synctest.Wait()
		if b.Alive() || c.Alive() {
			t.Error("something in the subtree still takes messages")
		}
		if _, err := RestartChild(context.Background(), r.tree.Ref(), "s"); err != nil {
			t.Error(err)
		}
		if got := r.state(); got != "a#1 s#2{b#2 t#2{c#2}}" {
			t.Errorf("tree %s", got)
		}
		if _, err := Do[int, int](context.Background(), r.ref("s"), 1); !errors.Is(err, ErrUnhandled) {
			t.Errorf("the new supervisor: %v", err)
		}
		close(gate)
		synctest.Wait()
		if got := r.state(); got != "a#1 s#2{b#2 t#2{c#2}}" {
			t.Errorf("tree %s after the late worker came back", got)
		}
		r.close()
	})
}

// A supervisor that is abandoned while it starts a child cannot put it into the tree any more.
func TestAnAbandonedSupervisorStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newRig(t)
		slow := Supervisor(Spec{Children: []Child{
			{ID: "b", Start: scriptWorker(script{init: func(*Process) error { <-gate; return nil }})},
			{ID: "c", Start: scriptWorker(script{})},
		}})
		r.tree, r.err = r.sys.Start(context.Background(), "top", Spec{
			Children: []Child{{ID: "a", Start: scriptWorker(script{})}},
		})
		var err error
		go func() {
			_, err = StartChild(context.Background(), r.tree.Ref(), Child{
				ID: "s", Shutdown: time.Second, Start: slow,
			})
		}()
		synctest.Wait()
		if got := r.state(); got != "a#1 s:starting" {
			t.Errorf("tree %s", got)
		}
		if end := TerminateChild(context.Background(), r.tree.Ref(), "s"); !errors.Is(end, ErrKilled) {
			t.Errorf("terminate: %v", end)
		}
		synctest.Wait()
		if err != ErrShutdown {
			t.Errorf("start: %v", err)
		}
		close(gate)
		synctest.Wait()
		if got := r.state(); got != "a#1 s:abandoned" {
			t.Errorf("tree %s", got)
		}
		r.close()
	})
}

// Actions that an abandoned supervisor may be about to do are refused row by row.
func TestRowsObeyOnlyTheirSupervisor(t *testing.T) {
	runTree(t, oneChild(Child{
		ID: "s", Start: Supervisor(Spec{Children: []Child{{ID: "a", Start: scriptWorker(script{})}}}),
	}),
		func(t *testing.T, r *rig) {
			s, a := r.ref("s").row, r.ref("s/a").row
			g, old := s.proc.Load(), a.owner
			a.seize(time.Now())
			if a.house(old, g, Running, time.Now()) || a.proc.Load() != nil {
				t.Error("a process was put into a seized row")
			}
			a.mark(old, Running, time.Now())
			if Status(a.status.Load()) != StatusAbandoned {
				t.Error("a seized row was marked")
			}
			s.add(newRow(r.sys, s, old, "ghost", a.child(), nil), &guard{})
			if s.find("ghost") != nil {
				t.Error("a row was added by a process that is not the row's")
			}
			s.remove(newRow(r.sys, s, old, "a", a.child(), nil))
			if s.find("a") != a {
				t.Error("a row was removed by a namesake")
			}
			k := &childRecord{id: "a", child: a.child()}
			k.driver.row = a
			old.spawn(time.Now(), k)
			if a.proc.Load() != nil {
				t.Error("spawned into a seized row")
			}
		})
}
