package otp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a worker that records its messages, in one list for all incarnations.
type recorder struct{ seen []string }

func (rec *recorder) start() Start {
	return Worker(func() Behaviour {
		return &script{
			receive: func(p *Process, msg any) error {
				rec.seen = append(rec.seen, fmt.Sprintf("%d:%v", p.Incarnation(), msg))
				return nil
			},
			terminate: func(p *Process, reason error) {
				rec.seen = append(rec.seen, fmt.Sprintf("%d:end %s", p.Incarnation(), reasonText(reason)))
			},
		}
	})
}

func (rec *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(rec.seen, want) {
		t.Errorf("seen %q, want %q", rec.seen, want)
	}
}

func TestAnOwnedGoroutineEndsAsAMessage(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(context.Context) error
		want string
	}{
		"nil":    {func(context.Context) error { return nil }, "1:{io <nil> }"},
		"error":  {func(context.Context) error { return errTest }, "1:{io test }"},
		"goexit": {func(context.Context) error { runtime.Goexit(); return nil }, "1:{io goexit }"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			runTree(t, oneChild(Child{ID: "a", Start: rec.start()}), func(t *testing.T, r *rig) {
				runInActor(t, r.ref("a"), func(p *Process) error { p.Go("io", c.f); return nil })
				rec.expect(t, c.want)
			})
		})
	}
}

func TestAPanicOfAnOwnedGoroutineIsACrash(t *testing.T) {
	rec := &recorder{}
	runTree(t, oneChild(Child{ID: "a", Start: rec.start()}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.Go("io", func(context.Context) error { panic("in goroutine") })
			return nil
		})
		rec.expect(t, "1:end crash")
		reports := r.reports()
		if len(reports) != 1 || reports[0].Incarnation != 1 || reports[0].Message != nil {
			t.Fatalf("reports %+v", reports)
		}
		if first, _, _ := strings.Cut(reports[0].Stack(), "\n"); !strings.Contains(first,
			"process_test.go:") {
			t.Errorf("stack %s", reports[0].Stack())
		}
		if got := r.state(); got != "a#2" {
			t.Errorf("tree %s", got)
		}
	})
}

func TestAnEndWaitsForTheGoroutines(t *testing.T) {
	rec := &recorder{}
	runTree(t, oneChild(Child{ID: "a", Shutdown: 5 * time.Second, Start: rec.start()}),
		func(t *testing.T, r *rig) {
			ended := false
			runInActor(t, r.ref("a"), func(p *Process) error {
				p.Go("slow", func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(3 * time.Second)
					ended = true
					return nil
				})
				return nil
			})
			start := time.Now()
			runInActor(t, r.ref("a"), func(*Process) error { panic(1) })
			if n := r.ref("a").Incarnation(); n != 1 {
				t.Errorf("incarnation %d began while a goroutine of the last one ran", n)
			}
			for r.ref("a").Incarnation() == 1 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			if took := time.Since(start); !ended || took != 3*time.Second {
				t.Errorf("ended %v after %s", ended, took)
			}
			rec.expect(t, "1:end crash")
		})
}

func TestAGoroutineThatDoesNotEndIsAbandoned(t *testing.T) {
	rec := &recorder{}
	runTree(t, oneChild(Child{ID: "a", Shutdown: 2 * time.Second, Start: rec.start()}),
		func(t *testing.T, r *rig) {
			gate := make(chan struct{})
			runInActor(t, r.ref("a"), func(p *Process) error {
				p.Go("stuck", func(context.Context) error { <-gate; panic("late") })
				return nil
			})
			runInActor(t, r.ref("a"), func(*Process) error { return errTest })
			time.Sleep(2 * time.Second)
			synctest.Wait()
			abandoned := ofType[Abandoned](r)
			if len(abandoned) != 1 || abandoned[0].Goroutine != "stuck" ||
				abandoned[0].Budget != 2*time.Second {
				t.Errorf("events %+v", abandoned)
			}
			if got := r.state(); got != "a#2" {
				t.Errorf("tree %s", got)
			}
			close(gate)
			rec.expect(t, "1:end test") // the late panic does not crash the new incarnation
			if got := r.state(); got != "a#2" {
				t.Errorf("tree %s", got)
			}
		})
}

func TestAGoroutineThatOutlivesAStopIsAbandoned(t *testing.T) {
	for _, shutdown := range []Shutdown{2 * time.Second, BrutalKill} {
		t.Run(shutdown.String(), func(t *testing.T) {
			rec := &recorder{}
			runTree(t, oneChild(Child{ID: "a", Shutdown: shutdown, Start: rec.start()}),
				func(t *testing.T, r *rig) {
					gate := make(chan struct{})
					defer close(gate)
					runInActor(t, r.ref("a"), func(p *Process) error {
						p.Go("stuck", func(context.Context) error { <-gate; return nil })
						return nil
					})
					if err := r.tree.Shutdown(context.Background()); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if len(ofType[Abandoned](r)) == 0 {
						t.Error("nobody is told")
					}
				})
		})
	}
}

func TestAGoroutineOfTheEndIsWaitedFor(t *testing.T) {
	var cause error
	start := scriptWorker(script{terminate: func(p *Process, _ error) {
		p.Go("last", func(ctx context.Context) error {
			cause = context.Cause(ctx)
			time.Sleep(time.Second)
			return nil
		})
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(*Process) error { return Normal })
		if cause == nil || r.ref("a").Incarnation() != 1 {
			t.Errorf("cause %v, incarnation %d", cause, r.ref("a").Incarnation())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := r.state(); got != "a#2" {
			t.Errorf("tree %s", got)
		}
	})
}

func TestTheContextEndsWithItsCauseBeforeTerminate(t *testing.T) {
	var cause, late error
	start := scriptWorker(script{terminate: func(p *Process, _ error) {
		cause = context.Cause(p.Context())
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error { p.Context(); return errTest })
		if cause != errTest {
			t.Errorf("cause %v", cause)
		}
		// No context was requested before the end.
		runInActor(t, r.ref("a"), func(p *Process) error { return errTest })
		if !errors.Is(cause, ErrShutdown) {
			t.Errorf("cause of a context made after the end began: %v", cause)
		}
		var p *Process
		runInActor(t, r.ref("a"), func(q *Process) error { p = q; p.Context(); return nil })
		_ = r.tree.Shutdown(context.Background())
		if late = context.Cause(p.Context()); late != ErrShutdown {
			t.Errorf("cause of a stop: %v", late)
		}
	})
}

func TestTimers(t *testing.T) {
	rec := &recorder{}
	runTree(t, oneChild(Child{ID: "a", Start: rec.start()}), func(t *testing.T, r *rig) {
		var stopped, queued Timer
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.After(time.Second, "second")
			p.After(2*time.Second, "two")
			stopped = p.After(time.Second, "never")
			if !stopped.Stop() || stopped.Stop() {
				t.Error("Stop does not say whether it did")
			}
			return nil
		})
		time.Sleep(3 * time.Second)
		rec.expect(t, "1:second", "1:two")
		runInActor(t, r.ref("a"), func(p *Process) error {
			queued = p.After(0, "queued")
			time.Sleep(time.Second) // it has fired and waits behind this message
			if !queued.Stop() {
				t.Error("a message that still waits cannot be stopped")
			}
			p.After(time.Second, "of the old incarnation")
			return errTest
		})
		time.Sleep(2 * time.Second)
		rec.expect(t, "1:second", "1:two", "1:end test")
		if (Timer{}).Stop() {
			t.Error("the zero Timer stopped something")
		}
	})
}

func TestNothingOfAnEndedIncarnationHasEffect(t *testing.T) {
	rec := &recorder{}
	runTree(t, oneChild(Child{ID: "a", Start: rec.start()}), func(t *testing.T, r *rig) {
		var old *Process
		runInActor(t, r.ref("a"), func(p *Process) error {
			old = p
			p.SetCarriedState("state")
			p.SetStatus("status")
			return errTest
		})
		old.SetCarriedState("wrong")
		old.SetStatus("wrong")
		old.Monitor(r.tree.Ref())
		old.Go("late", func(context.Context) error { t.Error("ran"); return nil })
		if old.After(0, "late").Stop() {
			t.Error("a timer was set")
		}
		CallAsync(old, r.ref("a"), "call", func(int, error) any { t.Error("wrapped"); return nil })
		time.Sleep(time.Second)
		runInActor(t, r.ref("a"), func(p *Process) error {
			if p.CarriedState() != "state" {
				t.Errorf("carried state %v", p.CarriedState())
			}
			return nil
		})
		if n := r.tree.Snapshot().Children[0]; n.Extra != "status" {
			t.Errorf("status %v", n.Extra)
		}
		if err := old.Send(r.ref("a"), "late"); err != ErrNoProc {
			t.Errorf("send: %v", err)
		}
		if len(rec.seen) != 1 { // neither the call nor the message was sent
			t.Errorf("seen %q", rec.seen)
		}
	})
}

// callee answers, crashes, or does not answer.
func callee() Start {
	return scriptWorker(script{receive: func(_ *Process, msg any) error {
		c := msg.(*Call[string, string])
		switch c.Req {
		case "crash":
			panic("on purpose")
		case "later":
			c.AnswerLater()
			time.AfterFunc(time.Second, func() { c.Reply("late") })
		default:
			c.Reply("re: " + c.Req)
		}
		return nil
	}})
}

func TestCallAsync(t *testing.T) {
	rec := &recorder{}
	spec := Spec{
		Intensity: Intensity{9, time.Hour},
		Children:  []Child{{ID: "a", Start: rec.start()}, {ID: "b", Start: callee()}},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		call := func(to Ref, req string) {
			runInActor(t, r.ref("a"), func(p *Process) error {
				CallAsync(p, to, req, func(s string, err error) any {
					if s == "re: bad" {
						panic("in wrap")
					}
					return fmt.Sprint(s, reasonText(err))
				})
				return nil
			})
		}
		call(r.ref("b"), "hello")
		call(r.ref("b"), "crash")
		call(Ref{}, "nobody")
		rec.expect(t, "1:re: hellonone", "1:crash", "1:no process")
		call(r.ref("b"), "later")
		runInActor(t, r.ref("a"), func(*Process) error { return Normal })
		time.Sleep(2 * time.Second)
		rec.expect(t, "1:re: hellonone", "1:crash", "1:no process", "1:end normal")
		call(r.ref("b"), "bad") // wrap runs on the caller's goroutine
		rec.expect(t, "1:re: hellonone", "1:crash", "1:no process", "1:end normal", "2:end crash")
	})
}

func TestProcessKnowsWhoItIs(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error {
			if p.Self() != r.ref("a") || p.Path() != "top/a" || p.System() != r.sys ||
				!p.Now().Equal(time.Now()) {
				t.Errorf("%v %s %v", p.Self(), p.Path(), p.Now())
			}
			return nil
		})
	})
}

// inheritance is carried state that records when it is dropped.
type inheritance struct{ dropped []error }

func (h *inheritance) Abandon(reason error) {
	h.dropped = append(h.dropped, reason)
	panic("in Abandon")
}

func TestCarriedState(t *testing.T) {
	sub := Spec{
		Intensity: Intensity{1, time.Hour}, Children: []Child{{ID: "a", Start: scriptWorker(script{})}},
	}
	spec := Spec{
		Intensity: Intensity{9, time.Hour}, Children: []Child{{ID: "s", Start: Supervisor(sub)}},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		h := &inheritance{}
		crash := func(*Process) error { panic(1) }
		runInActor(t, r.ref("s/a"), func(p *Process) error { p.SetCarriedState(h); return nil })
		runInActor(t, r.ref("s/a"), crash)
		runInActor(t, r.ref("s/a"), func(p *Process) error {
			if p.CarriedState() != h {
				t.Errorf("carried state %v after a crash", p.CarriedState())
			}
			return nil
		})
		runInActor(t, r.ref("s/a"), crash) // oneChild too many: the supervisor restarts
		runInActor(t, r.ref("s/a"), func(p *Process) error {
			if p.CarriedState() != nil {
				t.Errorf("carried state %v after the supervisor's restart", p.CarriedState())
			}
			p.SetCarriedState(h)
			return nil
		})
		if len(h.dropped) != 1 || !errors.Is(h.dropped[0], ErrIntensity) {
			t.Errorf("dropped %v", h.dropped)
		}
		ctx := context.Background()
		_ = TerminateChild(ctx, r.ref("s"), "a")
		if len(h.dropped) != 1 {
			t.Error("dropped though the row is still there")
		}
		_ = DeleteChild(ctx, r.ref("s"), "a")
		if len(h.dropped) != 2 {
			t.Error("not dropped with its row")
		}
	})
}
