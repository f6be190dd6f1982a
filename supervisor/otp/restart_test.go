package otp

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// counter answers with the number of messages that this incarnation has handled.
func counter() Start {
	return Worker(func() Behaviour {
		n := 0
		return &script{receive: func(_ *Process, msg any) error {
			n++
			switch m := msg.(type) {
			case *Call[string, int]:
				if m.Req == "crash" {
					panic("on purpose")
				}
				m.Reply(n)
			case chan struct{}:
				<-m
			}
			return nil
		}}
	})
}

// S4-6. The queue survives a crash, in order, and only the message that caused it fails.
func TestCrashKeepsTheQueueAndFailsOneMessage(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: counter()}), func(t *testing.T, r *rig) {
		ref := r.ref("a")
		gate := make(chan struct{})
		_ = ref.Send(gate)
		synctest.Wait()
		type result struct {
			n   int
			err error
		}
		results := make([]result, 3)
		for i, req := range []string{"one", "crash", "two"} {
			go func() { results[i].n, results[i].err = Do[string, int](context.Background(), ref, req) }()
			synctest.Wait()
		}
		close(gate)
		synctest.Wait()
		if results[0].n != 2 || results[2].n != 1 {
			t.Errorf("answers %d and %d, want 2 of the old incarnation and 1 of the new", results[0].n,
				results[2].n)
		}
		var rep *CrashReport
		if !errors.As(results[1].err, &rep) {
			t.Fatalf("crashing call: %v, want a crash report", results[1].err)
		}
		if rep.Path != "top/a" || rep.Incarnation != 1 || rep.Mailbox != 1 ||
			rep.MessageKind() != "*otp.Call[string,int]" {
			t.Errorf("report %+v, kind %s", rep, rep.MessageKind())
		}
		if first, _, _ := strings.Cut(rep.Stack(), "\n"); !strings.Contains(first, "restart_test.go:") {
			t.Errorf("stack does not begin where it panicked:\n%s", rep.Stack())
		}
		if got := rep.Error(); got != "top/a: *otp.Call[string,int]: panic: on purpose" {
			t.Errorf("report says %q", got)
		}
		if ref.Incarnation() != 2 || !ref.Alive() {
			t.Errorf("incarnation %d, alive %v", ref.Incarnation(), ref.Alive())
		}
		restarted := ofType[ChildRestarted](r)
		if len(restarted) != 1 || !restarted[0].InPlace || restarted[0].Restarts != 1 ||
			!errors.Is(restarted[0].Reason, rep) {
			t.Errorf("restart events %+v", restarted)
		}
	})
}

func TestMessagesOfARestartWaitForTheNewIncarnation(t *testing.T) {
	gate := make(chan struct{})
	starts := 0
	start := Worker(func() Behaviour {
		starts++
		slow := starts == 2
		return &script{init: func(*Process) error {
			if slow {
				<-gate
			}
			return nil
		}, receive: func(p *Process, msg any) error {
			msg.(*Call[int, uint64]).Reply(p.Incarnation())
			return nil
		}}
	})
	synctest.Test(t, func(t *testing.T) {
		gate = make(chan struct{})
		r := newRig(t)
		defer r.close()
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(Child{ID: "a", Start: start}))
		ref := r.ref("a")
		runInActor(t, ref, func(*Process) error { panic(1) })
		if !ref.Alive() {
			t.Error("not alive while it restarts in place")
		}
		var got uint64
		go func() { got, _ = Do[int, uint64](context.Background(), ref, 0) }()
		synctest.Wait()
		if got != 0 {
			t.Error("answered before Init had returned")
		}
		close(gate)
		synctest.Wait()
		if got != 2 {
			t.Errorf("answered by incarnation %d, want 2", got)
		}
	})
}

// Every way in which user code fails to return is an ordinary exit: no process blocks or is
// resurrected.
func TestEveryHandlerMayPanicOrGoexit(t *testing.T) {
	ways := map[string]func(){"panic": func() {
		panic("x")
	}, "goexit": runtime.Goexit, "nil panic": func() { panic(nil) }}
	for way, fail := range ways {
		for _, where := range []string{"factory", "init", "receive", "terminate"} {
			t.Run(way+" in "+where, func(t *testing.T) {
				failures := 0
				once := func(at string) {
					if at == where && failures < 1 {
						failures++
						fail()
					}
				}
				begun := 0
				start := Worker(func() Behaviour {
					begun++
					if begun > 1 {
						once("factory")
					}
					n := begun
					return &script{
						init: func(*Process) error {
							if n > 1 {
								once("init")
							}
							return nil
						},
						receive:   func(*Process, any) error { once("receive"); return errTest },
						terminate: func(*Process, error) { once("terminate") },
					}
				})
				runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
					_ = r.ref("a").Send(1)
					synctest.Wait()
					want := "a#2"
					if where == "factory" || where == "init" {
						want = "a#3"
					}
					if got := r.state(); got != want {
						t.Errorf("tree %s, want %s", got, want)
					}
					if failures != 1 {
						t.Errorf("%d failures", failures)
					}
					panicked := len(ofType[TerminatePanicked](r)) == 1
					if panicked != (where == "terminate") {
						t.Errorf("TerminatePanicked sent: %v", panicked)
					}
				})
			})
		}
	}
}

func TestGoexitIsReported(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(*Process) error { runtime.Goexit(); return nil })
		reports := r.reports()
		if len(reports) != 1 || !errors.Is(reports[0], ErrGoexit) {
			t.Errorf("reports %v", reports)
		}
	})
}

func TestFailedStartsOfTheFirstKind(t *testing.T) {
	for name, c := range map[string]struct {
		start Start
		want  string
	}{
		"nil behaviour": {Worker(func() Behaviour { return nil }), "no behaviour"},
		"error":         {scriptWorker(script{init: func(*Process) error { return errTest }}), "test"},
		"panic":         {Worker(func() Behaviour { panic("boom") }), "panic: boom"},
		"goexit": {scriptWorker(script{init: func(*Process) error {
			runtime.Goexit()
			return nil
		}}), "goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				_, err := r.sys.Start(context.Background(), "top", oneChild(Child{ID: "a", Start: c.start}))
				var start *StartError
				if !errors.As(err, &start) || start.Path != "top/a" || !strings.HasSuffix(err.Error(), c.want) {
					t.Errorf("got %v, want a StartError of top/a that ends with %q", err, c.want)
				}
				if failed := ofType[StartFailed](r); len(failed) != 1 || failed[0].Path != "top/a" {
					t.Errorf("events %+v", failed)
				}
			})
		})
	}
}

func TestAnAbnormalResultIsReportedWithoutAStack(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		msg := &failer{}
		runInActor(t, r.ref("a"), func(p *Process) error { return errTest })
		reports := r.reports()
		if len(reports) != 1 || reports[0].Reason != errTest || reports[0].Stack() != "" {
			t.Errorf("reports %+v", reports)
		}
		_ = r.ref("a").Send(msg)
		synctest.Wait()
		if msg.err != nil {
			t.Errorf("handled message failed: %v", msg.err)
		}
	})
}

func TestAMessageThatEndsItsWorkerFails(t *testing.T) {
	start := scriptWorker(script{receive: func(*Process, any) error { return errTest }})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		if _, err := Do[int, int](context.Background(), r.ref("a"), 1); err != errTest {
			t.Errorf("got %v, want the reason", err)
		}
	})
}
