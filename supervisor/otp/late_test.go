package otp

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/fault"
)

// When an isolated process reports late that it is ready, the supervisor does not take it for the
// start that is under way.
func TestALateStartIsNotItsSuccessors(t *testing.T) {
	var g gated
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{init: func(*Process) error {
		g.wait()
		return nil
	}})}), func(t *testing.T, r *rig) {
		old := r.ref("a").row.proc.Load()
		h := make(chan struct{})
		runInActor(t, r.ref("a"), func(*Process) error { <-h; return nil })
		g.set(make(chan struct{}))
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		old.sup.guard.mailbox.PostSystemMessage(readied{old})
		synctest.Wait()
		if got := r.state(); got != "a:restarting" {
			t.Errorf("tree %s while the successor starts", got)
		}
		close(g.set(nil))
		close(h)
	})
}

// An incarnation that was abandoned before it began does not begin.
func TestWhatIsAbandonedDoesNotBegin(t *testing.T) {
	inits := 0
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{init: func(*Process) error {
		inits++
		return nil
	}})}), func(t *testing.T, r *rig) {
		row := r.ref("a").row
		g := r.sys.newGuard(row, row.proc.Load().sup)
		g.abandoned.Store(true)
		g.begin()
		if p := g.current.Load(); inits != 1 || !p.isOver() || p.Context().Err() == nil {
			t.Errorf("%d have begun; over: %t", inits, p.isOver())
		}
	})
}

// A worker that was abandoned while a fault delayed a message does not handle the message.
func TestWhatIsAbandonedHandlesNothing(t *testing.T) {
	handled := false
	start := scriptWorker(script{receive: func(*Process, any) error { handled = true; return nil }})
	faulty(t, oneChild(Child{ID: "a", Shutdown: time.Second, Start: start}),
		func(t *testing.T, r *rig, faults *fault.Registry) {
			arm(t, faults, fault.Fault{
				Action: fault.Slow, Point: fault.Point{Path: "top/a"}, Delay: 10 * time.Second, Count: 1,
			})
			waits := &failer{}
			send(t, r.ref("a"), waits)
			synctest.Wait()
			if err := TerminateChild(context.Background(), r.tree.Ref(), "a"); err == nil {
				t.Error("it has ended in time")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if handled || waits.err != ErrKilled {
				t.Errorf("handled %t, failed with %v", handled, waits.err)
			}
		})
}

// A process that a stuck worker has passed to gets another goroutine as soon as the stuck worker is
// given up.
func TestWhoIsPassedToIsLetGoOf(t *testing.T) {
	var heard time.Time
	gate := make(chan struct{})
	spec := Spec{Children: []Child{
		{ID: "b", Start: scriptWorker(script{receive: func(*Process, any) error {
			heard = time.Now()
			return nil
		}})},
		{ID: "a", Shutdown: WatchInterval, Start: scriptWorker(script{})},
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		gate = make(chan struct{})
		time.Sleep((lookEvery + 1) * WatchInterval)
		begun, b := time.Now(), r.ref("b")
		runInActor(t, r.ref("a"), func(p *Process) error {
			if err := p.Pass(b, 1); err != nil {
				t.Error(err)
			}
			<-gate
			return nil
		})
		_ = TerminateChild(context.Background(), r.tree.Ref(), "a")
		synctest.Wait()
		if took := heard.Sub(begun); heard.IsZero() || took > 2*WatchInterval {
			t.Errorf("heard at %s, after %s", heard, took)
		}
		close(gate)
	})
}

// The request that a supervisor hangs at fails when the supervisor is replaced.
func TestARequestThatASupervisorHangsAtFails(t *testing.T) {
	var g gated
	child := Child{ID: "n", Start: SupervisorFunc(func() Spec {
		g.wait()
		return Spec{Children: []Child{{ID: "x", Start: scriptWorker(script{})}}}
	})}
	runTree(t, oneChild(Child{
		ID: "s", Start: Supervisor(oneChild(Child{ID: "a", Start: scriptWorker(script{})})),
	}),
		func(t *testing.T, r *rig) {
			g.set(make(chan struct{}))
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			if _, err := StartChild(ctx, r.ref("s"), child); !errors.Is(err, ErrStuck) {
				t.Errorf("answered %v", err)
			}
			close(g.set(nil))
		})
}

// gateLeaver is a message whose Fail hangs, and then ends the goroutine.
type gateLeaver struct{ g *gated }

func (l gateLeaver) Fail(error) { l.g.wait(); runtime.Goexit() }

// A supervisor that is about to end takes no further request, whatever signal it handles first.
func TestASupervisorThatIsAboutToEndStartsNobody(t *testing.T) {
	var init, fail gated
	begun := 0
	below := Spec{Intensity: Intensity{10, time.Hour}, Children: []Child{
		{ID: "slow", Start: scriptWorker(script{terminate: func(*Process, error) {
			time.Sleep(time.Second)
		}})},
		{ID: "a", Start: scriptWorker(script{init: func(p *Process) error {
			init.wait()
			if p.Incarnation() == 2 {
				return errTest
			}
			return nil
		}})},
	}}
	runTree(t, oneChild(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
		init.set(make(chan struct{}))
		fail.set(make(chan struct{}))
		runInActor(t, r.ref("s/a"), func(*Process) error { return errTest }) // its restart is under way
		send(t, r.ref("s"), gateLeaver{&fail})
		synctest.Wait()
		asked := make(chan error, 1)
		go func() {
			_, err := StartChild(context.Background(), r.ref("s"),
				Child{ID: "n", Start: scriptWorker(script{init: func(*Process) error {
					begun++
					return nil
				}})})
			asked <- err
		}()
		synctest.Wait()
		close(init.set(nil)) // and the restart fails
		synctest.Wait()
		close(fail.set(nil))
		if err := <-asked; err != ErrNoProc || begun != 0 {
			t.Errorf("answered %v, %d begun", err, begun)
		}
	})
}

// A request for a start that fails while the supervisor stops its children gets an answer.
func TestAStartThatFailsWhileOthersStopIsAnswered(t *testing.T) {
	var g gated
	runTree(t, oneChild(Child{ID: "s", Start: Supervisor(Spec{Intensity: Intensity{10, time.Hour}})}),
		func(t *testing.T, r *rig) {
			g.set(make(chan struct{}))
			asked := make(chan error, 1)
			go func() {
				_, err := StartChild(context.Background(), r.ref("s"),
					Child{ID: "x", Start: scriptWorker(script{init: func(*Process) error {
						g.wait()
						return errTest
					}})})
				asked <- err
			}()
			synctest.Wait()
			slow := Child{ID: "y", Start: scriptWorker(script{terminate: func(*Process, error) {
				time.Sleep(time.Second)
			}})}
			if _, err := StartChild(context.Background(), r.ref("s"), slow); err != nil {
				t.Fatal(err)
			}
			go func() { _ = TerminateChild(context.Background(), r.tree.Ref(), "s") }()
			synctest.Wait()
			close(g.set(nil))
			synctest.Wait()
			select {
			case err := <-asked:
				if err != ErrShutdown {
					t.Errorf("answered %v", err)
				}
			default:
				t.Error("not answered")
				asked <- nil
				<-asked
			}
		})
}
