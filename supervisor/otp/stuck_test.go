package otp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hang is a message whose handler blocks until gate is closed. The handler then runs after, whose
// calls must not have an effect any more.
type hang struct {
	failer
	gate  chan struct{}
	after func(p *Process)
}

func newHang() *hang { return &hang{gate: make(chan struct{}), after: func(*Process) {}} }

// diary is a worker that records the messages that it handles, and hangs on *hang messages.
type diary struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) add(p *Process, msg any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%d:%v", p.Incarnation(), msg))
}

func (d *diary) start() Start {
	return scriptWorker(script{receive: func(p *Process, msg any) error {
		if h, ok := msg.(*hang); ok {
			<-h.gate
			h.after(p)
			return nil
		}
		d.add(p, msg)
		return nil
	}})
}

func send(t *testing.T, ref Ref, msgs ...any) {
	t.Helper()
	for _, m := range msgs {
		if err := ref.Send(m); err != nil {
			t.Fatalf("%v: %v", m, err)
		}
	}
}

func TestAStuckWorkerIsReportedAndReplaced(t *testing.T) {
	d := &diary{}
	runTree(t, oneChild(Child{ID: "a", Start: d.start()}), func(t *testing.T, r *rig) {
		a, h := r.ref("a"), newHang()
		watcher := make(chan Down, 1)
		if _, err := StartChild(context.Background(), r.tree.Ref(),
			Child{ID: "w", Start: scriptWorker(script{
				init:    func(p *Process) error { p.Monitor(a); return nil },
				receive: func(_ *Process, msg any) error { watcher <- msg.(Down); return nil },
			})}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second + 17*time.Millisecond)
		h.after = func(p *Process) {
			p.SetCarriedState("wrong")
			p.SetStatus("wrong")
			p.After(0, "wrong")
			CallAsync(p, a, "wrong", func(int, error) any { return "wrong" })
			if p.Post("wrong") != ErrNoProc || p.Send(a, "wrong") != ErrNoProc ||
				p.PostWait(context.Background(), "wrong") != ErrNoProc || p.CarriedState() != nil {
				t.Error("the old incarnation has effect")
			}
		}
		begun := time.Now()
		send(t, a, "before", h, "behind 1", "behind 2")
		time.Sleep(DefaultSoftTimeout + 100*time.Millisecond)
		synctest.Wait()
		stuck := ofType[Stuck](r)
		if len(stuck) != 1 || stuck[0].Path != "top/a" || stuck[0].For < DefaultSoftTimeout ||
			stuck[0].Report.MessageKind() != "*otp.hang" || stuck[0].Report.Mailbox != 2 {
			t.Fatalf("events %+v", stuck)
		}
		if s := stuck[0].Report.Stack(); !strings.Contains(s, "(*diary).start") ||
			!strings.Contains(s, "stuck_test.go") {
			t.Errorf("stack %q", s)
		}
		if h.err != nil || r.state() != "a#1 w#1" {
			t.Errorf("after Soft: failed with %v, tree %s", h.err, r.state())
		}
		var down Down
		select {
		case down = <-watcher:
		case <-time.After(time.Minute):
		}
		if took := time.Since(begun); took < DefaultHardTimeout ||
			took > DefaultHardTimeout+100*time.Millisecond {
			t.Errorf("replaced after %s", took)
		}
		synctest.Wait()
		send(t, a, "later")
		synctest.Wait()
		if !errors.Is(h.err, ErrStuck) || !errors.Is(down.Reason, ErrStuck) || down.Incarnation != 1 {
			t.Errorf("failed with %v, down %+v", h.err, down)
		}
		if want := []string{"1:before", "2:behind 1", "2:behind 2",
			"2:later"}; !slices.Equal(d.lines, want) {
			t.Errorf("handled %q, want %q", d.lines, want)
		}
		n := r.tree.Snapshot().Children[0]
		if n.Isolated != 1 || n.Restarts != 1 || n.Incarnation != 2 || n.Status != Running ||
			r.sys.Isolated() != 1 {
			t.Errorf("row %+v", n)
		}
		if e := ofType[ChildExited](r); len(e) != 1 || !errors.Is(e[0].Reason, ErrStuck) ||
			e[0].Incarnation != 1 {
			t.Errorf("exits %+v", e)
		}
		close(h.gate)
		time.Sleep(time.Minute)
		if len(d.lines) != 4 || r.sys.Isolated() != 0 || r.tree.Snapshot().Children[0].Isolated != 0 ||
			r.state() != "a#2 w#1" {
			t.Errorf("after it came back: handled %q, %d hung, tree %s", d.lines,
				r.sys.Isolated(), r.state())
		}
		runInActor(t, a, func(p *Process) error {
			if p.CarriedState() != nil {
				t.Errorf("carried state %v", p.CarriedState())
			}
			return nil
		})
	})
}

// However the stuck goroutine ends, the carried state that it held is abandoned then, and its end
// is not a crash.
func TestAStuckWorkerComesBackInAnyWay(t *testing.T) {
	for name, back := range map[string]func(p *Process) error{
		"returns": func(*Process) error { return nil },
		"ends":    func(*Process) error { return errTest },
		"panics":  func(*Process) error { panic("late") },
	} {
		t.Run(name, func(t *testing.T) {
			held := &abandonRecorder{}
			runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
				gate := make(chan struct{})
				runInActor(t, r.ref("a"), func(p *Process) error {
					p.SetCarriedState(held)
					<-gate
					return back(p)
				})
				time.Sleep(DefaultHardTimeout + time.Second)
				synctest.Wait()
				if r.state() != "a#2" || len(held.dropped) != 0 {
					t.Errorf("tree %s, carried state abandoned %v while it is in use", r.state(), held.dropped)
				}
				want := []string{"top/a#1 held by a goroutine that is stuck"}
				if !slices.Equal(r.droppedEvents(), want) {
					t.Errorf("events %q", r.droppedEvents())
				}
				close(gate)
				time.Sleep(time.Second)
				synctest.Wait()
				if len(held.dropped) != 1 || held.dropped[0] != ErrStuck || r.sys.Isolated() != 0 ||
					r.state() != "a#2" || len(r.reports()) != 1 {
					t.Errorf("abandoned %v, %d hung, tree %s, reports %v", held.dropped,
						r.sys.Isolated(), r.state(),
						r.reports())
				}
			})
		})
	}
}

// carriedList is carried state that can be taken between two uses.
type carriedList struct {
	mu    sync.Mutex // guards the fields below
	list  []int
	taken bool
}

func (e *carriedList) add(n int) (sum int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken {
		panic(ErrStuck)
	}
	e.list = append(e.list, n)
	for _, n := range e.list {
		sum += n
	}
	return sum
}

func (e *carriedList) Detach() any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken = true
	return &carriedList{list: e.list}
}

// State that can be taken goes to the next incarnation. The stuck incarnation ends as soon as it
// uses the state again.
func TestCarriedStateIsDetachedFromAStuckWorker(t *testing.T) {
	back := false
	var use func(n int) int
	start := scriptWorker(script{init: func(p *Process) error {
		e, ok := p.CarriedState().(*carriedList)
		if !ok {
			e = &carriedList{}
			p.SetCarriedState(e)
		}
		use = e.add
		return nil
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		runInActor(t, r.ref("a"), func(*Process) error {
			mine := use
			mine(1)
			<-gate
			defer func() { back = true }()
			mine(100)
			t.Error("went on with what was taken")
			return nil
		})
		time.Sleep(DefaultHardTimeout + time.Second)
		runInActor(t, r.ref("a"), func(*Process) error { use(2); return nil })
		close(gate)
		synctest.Wait()
		runInActor(t, r.ref("a"), func(*Process) error {
			if sum := use(3); sum != 6 || !back {
				t.Errorf("sum %d, came back %v", sum, back)
			}
			return nil
		})
		if len(r.droppedEvents()) != 0 || r.state() != "a#2" {
			t.Errorf("dropped %q, tree %s", r.droppedEvents(), r.state())
		}
	})
}

// Carried state whose Detach returns nil is dropped, like state without Detach.
func TestCarriedStateInUseIsAbandoned(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.SetCarriedState(clinging{})
			<-gate
			return nil
		})
		time.Sleep(DefaultHardTimeout + time.Second)
		synctest.Wait()
		if len(r.droppedEvents()) != 1 || r.ref("a").row.carried != nil || r.state() != "a#2" {
			t.Errorf("dropped %q, carried state %v, tree %s", r.droppedEvents(),
				r.ref("a").row.carried, r.state())
		}
		close(gate)
	})
}

type clinging struct{}

func (clinging) Detach() any { return nil }

func TestWhoeverComesBackInTimeIsLeftAlone(t *testing.T) {
	d := &diary{}
	for name, c := range map[string]struct {
		child Child
		takes time.Duration
		told  int
	}{
		"soon":      {Child{}, DefaultSoftTimeout - 100*time.Millisecond, 0},
		"late":      {Child{}, DefaultHardTimeout - 100*time.Millisecond, 1},
		"unwatched": {Child{SoftTimeout: NoTimeout, HardTimeout: NoTimeout}, 5 * time.Minute, 0},
		"slow":      {Child{HardTimeout: NoTimeout}, 5 * time.Minute, 1},
		"patient": {Child{SoftTimeout: time.Minute, HardTimeout: 5 * time.Minute},
			5*time.Minute - 100*time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.child.ID, c.child.Start = "a", d.start()
			runTree(t, oneChild(c.child), func(t *testing.T, r *rig) {
				h := newHang()
				for range 3 { // the time of each message counts separately
					h.gate = make(chan struct{})
					send(t, r.ref("a"), h)
					time.Sleep(c.takes)
					close(h.gate)
					synctest.Wait()
				}
				if got := len(ofType[Stuck](r)); got != 3*c.told || h.err != nil || r.state() != "a#1" {
					t.Errorf("told %d times, failed with %v, tree %s", got, h.err, r.state())
				}
			})
		})
	}
}

// Nothing but the watch bounds a Terminate that was not ordered.
func TestAStuckTerminateIsReplaced(t *testing.T) {
	var gate chan struct{}
	start := scriptWorker(script{terminate: func(p *Process, _ error) {
		if p.Incarnation() == 1 {
			<-gate
		}
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		gate = make(chan struct{})
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		ran := false
		runInActor(t, r.ref("a"), func(*Process) error { ran = true; return nil })
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if !ran || r.state() != "a#2" || r.sys.Isolated() != 1 {
			t.Errorf("tree %s, %d hung, what waited ran: %v", r.state(), r.sys.Isolated(), ran)
		}
		close(gate)
		synctest.Wait()
		if r.state() != "a#2" || r.sys.Isolated() != 0 {
			t.Errorf("tree %s, %d hung after it came back", r.state(), r.sys.Isolated())
		}
	})
}

// A hang is a crash for the strategy and the intensity. If there is no successor, the waiting
// messages fail.
func TestAStuckWorkerCountsAsACrash(t *testing.T) {
	d := &diary{}
	spec := Spec{Strategy: RestForOne, Intensity: Intensity{1, time.Hour}, Children: []Child{
		{ID: "z", Start: scriptWorker(script{})}, {ID: "a", Start: d.start()},
		{ID: "b", Start: scriptWorker(script{})},
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		first, second, last := newHang(), newHang(), &failer{}
		send(t, r.ref("a"), first, "waiting")
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if r.state() != "z#1 a#2 b#2" || !slices.Equal(d.lines, []string{"2:waiting"}) {
			t.Errorf("tree %s, handled %q", r.state(), d.lines)
		}
		send(t, r.ref("a"), second, last)
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if !errors.Is(second.err, ErrStuck) || last.err != ErrNoProc ||
			!errors.Is(r.tree.Err(), ErrIntensity) || !errors.Is(r.tree.Err(), ErrStuck) {
			t.Errorf("failed with %v and %v, tree %v", second.err, last.err, r.tree.Err())
		}
		close(first.gate)
		close(second.gate)
	})
}

// Replacing ends when too many processes have not returned.
func TestHungGoroutinesAreBounded(t *testing.T) {
	d := &diary{}
	spec := Spec{
		Intensity: Intensity{10 * MaxIsolated, time.Second},
		Children:  []Child{{ID: "a", Start: d.start()}},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		for n := 1; r.tree.Err() == nil; n++ {
			h := newHang()
			h.gate = gate
			send(t, r.ref("a"), h)
			time.Sleep(DefaultHardTimeout + 2*time.Second)
			synctest.Wait()
			if n > MaxIsolated+1 || n <= MaxIsolated && r.sys.Isolated() != n {
				t.Fatalf("%d hung after %d", r.sys.Isolated(), n)
			}
		}
		if !errors.Is(r.tree.Err(), ErrGiveUp) || !errors.Is(r.tree.Err(), ErrStuck) {
			t.Errorf("tree: %v", r.tree.Err())
		}
		close(gate)
		synctest.Wait()
		if r.sys.Isolated() != 0 {
			t.Errorf("%d hung after all came back", r.sys.Isolated())
		}
	})
}

// The end of a late Terminate is not reported to watchers of the row. They watch the successor.
func TestALateTerminateIsNoEnd(t *testing.T) {
	var g gated
	start := scriptWorker(script{terminate: func(*Process, error) { g.wait() }})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		gate, a, downs := g.set(nil), r.ref("a"), 0
		if _, err := StartChild(context.Background(), r.tree.Ref(),
			Child{ID: "w", Start: scriptWorker(script{
				init:    func(p *Process) error { p.Monitor(a); return nil },
				receive: func(_ *Process, msg any) error { downs++; return nil },
			})}); err != nil {
			t.Fatal(err)
		}
		close(gate)
		synctest.Wait()
		if downs != 0 || r.state() != "a#2 w#1" {
			t.Errorf("%d ends, tree %s", downs, r.state())
		}
	})
}
