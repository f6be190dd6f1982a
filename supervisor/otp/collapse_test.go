package otp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A supervisor that panics while it ends, which only a bug can cause, abandons everything below it
// and is gone at once. Messages that wait for the successor of a stuck child fail.
func TestAnEndThatPanicsLeavesNobodyWaiting(t *testing.T) {
	gate := make(chan struct{})
	below := Spec{Strategy: RestForOne, Intensity: Intensity{10, time.Hour}, Children: []Child{
		{ID: "a", Start: scriptWorker(script{})},
		{ID: "b", Shutdown: Infinity, Start: scriptWorker(script{terminate: func(*Process, error) {
			<-gate
		}})},
	}}
	runTree(t, oneChild(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
		gate = make(chan struct{})
		waits, stopped := &failer{}, make(chan error, 1)
		send(t, r.ref("s/a"), func(*Process) error { <-gate; return nil })
		time.Sleep(DefaultHardTimeout + 2*time.Second) // b ends before a is started again
		send(t, r.ref("s/a"), waits)
		go func() { stopped <- TerminateChild(context.Background(), r.tree.Ref(), "s") }()
		synctest.Wait()
		if waits.err != nil || len(stopped) > 0 {
			t.Fatalf("told %v, %d stopped, while there was to be a successor", waits.err, len(stopped))
		}
		r.ref("s").row.proc.Load().mailbox.PostSystemMessage(readied{}) // from no child: a bug
		synctest.Wait()
		if waits.err != ErrNoProc {
			t.Errorf("what waits for a successor failed with %v", waits.err)
		}
		if gone := ofType[Abandoned](r); len(stopped) != 1 || len(gone) != 1 ||
			gone[0].Path != "top/s/b" {
			t.Errorf("%d stopped, abandoned %v", len(stopped), gone)
		}
		close(gate)
	})
}

// A process that returns just before its carried state is taken does not keep the state. The
// Abandon of the state is called at once.
func TestCarriedStateIsAbandonedAtOnceWhenTheWorkerHasReturned(t *testing.T) {
	h := &abandonRecorder{}
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		runInActor(t, r.ref("a"), func(p *Process) error { p.SetCarriedState(h); <-gate; return nil })
		cut, ok := r.ref("a").row.proc.Load().replace(0, ErrStuck) // as its supervisor does
		close(gate)
		synctest.Wait()
		if cut.takeCarried(); !ok || len(h.dropped) != 1 || h.dropped[0] != ErrStuck {
			t.Errorf("replaced %t, told %v", ok, h.dropped)
		}
	})
}

// A supervisor that returns while it is abandoned, just after its children were listed, starts no
// child.
func TestWhatIsStartedMeanwhileIsAbandonedToo(t *testing.T) {
	sys := NewSystem(Options{})
	defer sys.Close()
	begun := make(chan struct{}, 2)
	below := Spec{Children: []Child{{ID: "a", Start: scriptWorker(script{init: func(*Process) error {
		begun <- struct{}{}
		return nil
	}})}}}
	if _, err := sys.Start(t.Context(), "top",
		Spec{Children: []Child{{ID: "s", Shutdown: BrutalKill, Start: Supervisor(below)}}}); err != nil {
		t.Fatal(err)
	}
	<-begun
	s, _ := sys.Whereis("top/s")
	a, _ := sys.Whereis("top/s/a")
	if err := TerminateChild(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
	a.row.mu.Lock()
	abandoned := make(chan struct{})
	go func() { s.row.proc.Load().abandon(); close(abandoned) }() // awaited below
	time.Sleep(10 * WatchInterval)                                // it waits for the row's lock
	g := sys.newGuard(a.row, a.row.owner)
	a.row.proc.Store(g) // as the supervisor does, if it gets the lock first
	a.row.mu.Unlock()
	<-abandoned
	if err := sys.spawn(g); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * WatchInterval)
	if len(begun) > 0 || !g.abandoned.Load() {
		t.Error("it runs, and nobody has it")
	}
}
