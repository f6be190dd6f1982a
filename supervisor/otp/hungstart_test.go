package otp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gated blocks its callers until its gate is closed.
type gated struct {
	mu   sync.Mutex // guards gate
	gate chan struct{}
}

func (g *gated) wait() {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// set sets the gate that blocks from now on, nil for none, and returns the old one.
func (g *gated) set(gate chan struct{}) (was chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was, g.gate = g.gate, gate
	return was
}

// An Init that hangs is reported after SoftTimeout, with its stack, and is a failed start after
// StartTimeout.
func TestAHungInitIsReported(t *testing.T) {
	var g gated
	runTree(t, oneChild(Child{ID: "a", StartTimeout: 5 * time.Second,
		Start: scriptWorker(script{init: func(*Process) error {
			g.wait()
			return nil
		}})}), func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		time.Sleep(DefaultSoftTimeout + 2*time.Second)
		stuck := ofType[Stuck](r)
		if len(stuck) != 1 || stuck[0].Path != "top/a" ||
			!strings.Contains(stuck[0].Report.Stack(), "(*gated).wait") {
			t.Fatalf("events %+v", stuck)
		}
		gate := g.set(nil)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if r.state() != "a#3" || r.sys.Isolated() != 1 {
			t.Errorf("tree %s, %d hung", r.state(), r.sys.Isolated())
		}
		close(gate)
	})
}

// Inits that hang repeatedly, far apart, do not exceed the intensity. But they use up MaxIsolated.
func TestHungStartsAreBounded(t *testing.T) {
	var g gated
	spec := Spec{Intensity: Intensity{1, time.Second}, Children: []Child{
		{ID: "a", Start: scriptWorker(script{init: func(*Process) error { g.wait(); return nil }})},
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		time.Sleep((MaxIsolated + 10) * DefaultStartTimeout)
		synctest.Wait()
		if !errors.Is(r.tree.Err(), ErrGiveUp) || r.sys.Isolated() > MaxIsolated+1 {
			t.Errorf("tree %v, %d hung", r.tree.Err(), r.sys.Isolated())
		}
		close(g.set(nil))
	})
}

// The number of first starts that hang is bounded, however many are requested. A pool starts at
// most MaxStarting at a time, and none while MaxIsolated are stuck. Another pool is not affected,
// and existing children still work.
func TestHungFirstStartsAreBounded(t *testing.T) {
	var g gated
	pool := func(id string, start Start) Child {
		return Child{
			ID: id,
			Start: Supervisor(Spec{
				Strategy: SimpleOneForOne, Children: []Child{{Restart: Temporary, Start: start}},
			}),
		}
	}
	spec := Spec{Children: []Child{
		pool("p", WorkerWith(func(any) Behaviour {
			return &script{init: func(*Process) error { g.wait(); return nil }}
		})),
		pool("q", WorkerWith(func(any) Behaviour { return &script{} })),
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		open := func(pool, id string) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := StartChildArgs(ctx, r.ref(pool), id, nil)
			return err
		}
		if err := open("p", "before"); err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		g.set(gate)
		const asked = 5 * MaxIsolated
		failed := make(chan error, asked)
		for n := range asked {
			go func() { failed <- open("p", fmt.Sprint(n)) }()
		}
		late, refused := 0, 0
		for range asked {
			switch err := <-failed; {
			case errors.Is(err, ErrStartTimeout):
				late++
			case errors.Is(err, ErrStuck):
				refused++
			default:
				t.Errorf("a start: %v", err)
			}
		}
		if late >= MaxIsolated+MaxStarting || late+refused != asked || r.sys.Isolated() != late {
			t.Errorf("%d were late, %d refused, %d hung", late, refused, r.sys.Isolated())
		}
		if err := open("q", "a"); err != nil {
			t.Errorf("another pool: %v", err)
		}
		runInActor(t, r.ref("p/before"), func(*Process) error { return nil })
		g.set(nil)
		close(gate)
		synctest.Wait()
		if err := open("p", "after"); err != nil || r.sys.Isolated() != 0 {
			t.Errorf("when they are back: %v, %d hung", err, r.sys.Isolated())
		}
	})
}

// A worker that returns from Init too late, while its group is being stopped, takes no message that
// waits for its successor.
func TestALateInitTakesNoMessages(t *testing.T) {
	var g gated
	d := &diary{}
	spec := Spec{Strategy: RestForOne, Intensity: Intensity{10, time.Hour}, Children: []Child{
		{ID: "a", StartTimeout: 2 * time.Second, Start: scriptWorker(script{
			init:    func(*Process) error { g.wait(); return nil },
			receive: func(p *Process, msg any) error { d.add(p, msg); return nil },
		})},
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		waiting := &failer{}
		send(t, r.ref("a"), waiting)
		old := r.ref("a").row.proc.Load()
		// The supervisor does the same and then stops others.
		if _, ok := old.replace(0, ErrStartTimeout); !ok {
			t.Fatal("not replaced")
		}
		gate := g.set(nil)
		close(gate)
		synctest.Wait()
		if waiting.err != nil {
			t.Errorf("what waits for a successor failed with %v", waiting.err)
		}
	})
}

// A supervisor whose spec function hangs is a failed start, and does not keep the tree from
// stopping.
func TestAHungSupervisorStartFails(t *testing.T) {
	var g gated
	sub := SupervisorWith(func(any) Spec {
		g.wait()
		return Spec{Children: []Child{{ID: "x", Start: scriptWorker(script{})}}}
	})
	pool := Child{
		ID: "p",
		Start: Supervisor(Spec{
			Strategy: SimpleOneForOne, Intensity: Intensity{10, time.Hour}, Children: []Child{{Start: sub}},
		}),
	}
	runTree(t, oneChild(pool), func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		begun := time.Now()
		_, err := StartChildArgs(context.Background(), r.ref("p"), "s", nil)
		if took := time.Since(begun); !errors.Is(err, ErrStartTimeout) || took < DefaultStartTimeout ||
			took > DefaultStartTimeout+3*time.Second {
			t.Errorf("start: %v after %s", err, took)
		}
		if stuck := ofType[Stuck](r); len(stuck) != 1 || stuck[0].Path != "top/p/s" ||
			!strings.Contains(stuck[0].Report.Stack(), "(*gated).wait") {
			t.Errorf("events %+v", stuck)
		}
		go func() { _, err = StartChildArgs(context.Background(), r.ref("p"), "s", nil) }()
		synctest.Wait()
		begun = time.Now()
		if err := r.tree.Shutdown(context.Background()); err != nil ||
			time.Since(begun) > DefaultHardTimeout+3*time.Second {
			t.Errorf("shutdown: %v after %s", err, time.Since(begun))
		}
		synctest.Wait()
		if err != ErrShutdown {
			t.Errorf("start while the tree stops: %v", err)
		}
		close(g.set(nil))
		synctest.Wait()
		if r.sys.Isolated() != 0 {
			t.Errorf("%d hung", r.sys.Isolated())
		}
	})
}

// stubborn is carried state whose Abandon hangs, on its supervisor's goroutine.
type stubborn struct{ g *gated }

func (s stubborn) Abandon(error) { s.g.wait() }

// A supervisor that hangs is abandoned with everything below it, and started again.
func TestAStuckSupervisorIsReplaced(t *testing.T) {
	var g gated
	sub := Supervisor(Spec{Children: []Child{
		{ID: "x", Start: scriptWorker(script{})},
		{ID: "y", Restart: Temporary, Start: scriptWorker(script{})},
	}})
	runTree(t, oneChild(Child{ID: "s", Start: sub}), func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		runInActor(t, r.ref("s/y"), func(p *Process) error {
			p.SetCarriedState(stubborn{&g})
			return Normal
		})
		asked := make(chan error, 1)
		go func() { _, err := CountChildren(context.Background(), r.ref("s")); asked <- err }()
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if r.state() != "s#2{x#2 y#1}" || r.sys.Isolated() != 1 {
			t.Errorf("tree %s, %d hung", r.state(), r.sys.Isolated())
		}
		select {
		case err := <-asked:
			if !errors.Is(err, ErrKilled) {
				t.Errorf("a request that waited: %v", err)
			}
		default:
			t.Error("a request that waited got no answer")
		}
		close(g.set(nil))
		synctest.Wait()
		if r.state() != "s#2{x#2 y#1}" || r.sys.Isolated() != 0 {
			t.Errorf("tree %s, %d hung after it came back", r.state(), r.sys.Isolated())
		}
	})
}

// leaver is a message whose Fail ends the goroutine.
type leaver struct{}

func (leaver) Fail(error) { runtime.Goexit() }

// A process has ended even if other code ends the goroutine during its last action.
func TestAnEndIsToldWhateverFailDoes(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Restart: Transient, Start: scriptWorker(script{})}),
		func(t *testing.T, r *rig) {
			gate := make(chan struct{})
			send(t, r.ref("a"), func(*Process) error { <-gate; return nil })
			synctest.Wait()
			send(t, r.ref("a"), leaver{})
			ended := make(chan error, 1)
			go func() { ended <- TerminateChild(context.Background(), r.tree.Ref(), "a") }()
			synctest.Wait()
			close(gate)
			synctest.Wait()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Error("it has not ended")
				<-ended
			}
		})
}

// A link that an isolated incarnation requests does not tie its successor.
func TestAStuckWorkerLinksNobody(t *testing.T) {
	spec := Spec{
		Intensity: Intensity{10, time.Hour},
		Children: []Child{
			{ID: "a", Start: scriptWorker(script{})}, {ID: "b", Start: scriptWorker(script{})},
		},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		gate, b := make(chan struct{}), r.ref("b")
		runInActor(t, r.ref("a"), func(p *Process) error { <-gate; p.Link(b); return nil })
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		close(gate)
		synctest.Wait()
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		if r.state() != "a#3 b#1" {
			t.Errorf("tree %s", r.state())
		}
	})
}

// A supervisor that returns late from its spec function takes no row from its successor.
func TestALateSupervisorTakesNoRows(t *testing.T) {
	var g gated
	sub := SupervisorWith(func(any) Spec {
		g.wait()
		return Spec{Children: []Child{{ID: "x", Start: scriptWorker(script{})}}}
	})
	pool := Child{
		ID: "p",
		Start: Supervisor(Spec{
			Strategy: SimpleOneForOne, Intensity: Intensity{10, time.Hour}, Children: []Child{{Start: sub}},
		}),
	}
	runTree(t, oneChild(pool), func(t *testing.T, r *rig) {
		if _, err := StartChildArgs(context.Background(), r.ref("p"), "s", nil); err != nil {
			t.Fatal(err)
		}
		g.set(make(chan struct{}))
		// Once more: now the supervisor restarts.
		runInActor(t, r.ref("p/s/x"), func(*Process) error { return errTest })
		_ = r.ref("p/s/x").Send(func(*Process) error { return errTest })
		time.Sleep(DefaultStartTimeout / 2)
		gate := g.set(nil)
		time.Sleep(DefaultStartTimeout)
		synctest.Wait()
		if r.state() != "p#1{s#3{x#3}}" {
			t.Errorf("tree %s", r.state())
		}
		close(gate)
		time.Sleep(time.Minute)
		if r.state() != "p#1{s#3{x#3}}" || r.sys.Isolated() != 0 {
			t.Errorf("tree %s, %d hung after it came back", r.state(), r.sys.Isolated())
		}
		runInActor(t, r.ref("p/s/x"), func(*Process) error { return errTest })
		if r.state() != "p#1{s#3{x#4}}" {
			t.Errorf("tree %s after a crash", r.state())
		}
	})
}

// Check ends a worker that was replaced before an action that its Process cannot prevent. The end
// is not reported.
func TestCheckEndsWhoWasReplaced(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.Check()
			<-gate
			p.Check()
			t.Error("went on")
			return nil
		})
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		close(gate)
		synctest.Wait()
		if r.state() != "a#2" || r.sys.Isolated() != 0 || len(r.reports()) != 1 {
			t.Errorf("tree %s, %d hung, reports %v", r.state(), r.sys.Isolated(), r.reports())
		}
	})
}
