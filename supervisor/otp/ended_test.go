package otp

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"mcpd/internal/clock"
)

// A Ref outlives its row: it waits in timers and in the tables of other actors. It keeps nothing of
// what ran there, neither the arguments of the start nor the closure that starts it.
func TestRefOfAnEndedRowKeepsNothing(t *testing.T) {
	type work struct{ _ [1 << 20]byte }
	keep := func(w *work) Start {
		return Worker(func() Behaviour {
			return &script{init: func(p *Process) error { p.SetStatus(w); return nil }}
		})
	}
	child := func(w *work) Child { return Child{ID: "w", Restart: Temporary, Start: keep(w)} }
	below := func(w *work) Spec { return Spec{Children: []Child{child(w)}} }
	ctx := context.Background()
	for name, start := range map[string]func(sup Ref, w *work) (Ref, error){
		"a child": func(sup Ref, w *work) (Ref, error) { return StartChild(ctx, sup, child(w)) },
		"a child of a supervisor": func(sup Ref, w *work) (Ref, error) {
			return StartChild(ctx, sup, Child{ID: "s", Restart: Temporary, Start: Supervisor(below(w))})
		},
		"an entry of a pool": func(sup Ref, w *work) (Ref, error) {
			pool := Spec{Strategy: SimpleOneForOne, Children: []Child{{
				Restart: Temporary,
				Start:   SupervisorWith(func(args any) Spec { return below(args.(*work)) }),
			}}}
			ref, err := StartChild(ctx, sup, Child{ID: "p", Restart: Temporary, Start: Supervisor(pool)})
			if err != nil {
				return ref, err
			}
			return StartChildArgs(ctx, ref, "x", w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sys := NewSystem(Options{})
			defer sys.Close()
			tree, err := sys.Start(ctx, "top", Spec{})
			if err != nil {
				t.Fatal(err)
			}
			w := new(work)
			held := weak.Make(w)
			ref, err := start(tree.Ref(), w)
			if err != nil {
				t.Fatal(err)
			}
			if below := ref.Child("w"); !below.IsZero() {
				ref = below
			}
			runtime.GC()
			if held.Value() == nil {
				t.Fatal("the work is not held while it runs")
			}
			top, id := tree.Ref(), tree.Snapshot().Children[0].ID
			if err := TerminateChild(ctx, top, id); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(5 * time.Second); held.Value() != nil; runtime.GC() {
				if time.Now().After(end) {
					t.Fatalf("%v holds the work", ref)
				}
			}
			runtime.KeepAlive(ref)
		})
	}
}

// hoarder is a clock that keeps the function of every timer, also of a stopped one. The timers of
// the runtime do so for a while.
type hoarder struct {
	Clock
	mu   sync.Mutex
	kept []func()
}

func (h *hoarder) AfterFunc(d time.Duration, f func()) ClockTimer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, f)
	return h.Clock.AfterFunc(d, f)
}

// A stopped timer keeps neither its message nor the process that has set it.
func TestStoppedTimerKeepsNothing(t *testing.T) {
	type work struct{ _ [1 << 20]byte }
	ctx := context.Background()
	for name, stop := range map[string]func(top Ref, timer Timer) error{
		"ended": func(top Ref, _ Timer) error { return TerminateChild(ctx, top, "a") },
		"stopped": func(top Ref, timer Timer) error {
			timer.Stop()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hoarder{Clock: clock.System}
			sys := NewSystem(Options{Clock: h})
			defer sys.Close()
			tree, err := sys.Start(ctx, "top", Spec{})
			if err != nil {
				t.Fatal(err)
			}
			w := new(work)
			held := weak.Make(w)
			var timer Timer
			_, err = StartChild(ctx, tree.Ref(), Child{ID: "a", Restart: Temporary,
				Start: Worker(func() Behaviour {
					return &script{init: func(p *Process) error {
						timer = p.After(time.Hour, w)
						w = nil
						return nil
					}}
				})})
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			if held.Value() == nil {
				t.Fatal("the message is not held while it may arrive")
			}
			if err := stop(tree.Ref(), timer); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(5 * time.Second); held.Value() != nil; runtime.GC() {
				if time.Now().After(end) {
					t.Fatal("the timer holds the message")
				}
			}
			runtime.KeepAlive(h)
		})
	}
}

// A callback that ends the supervisor's goroutine amid the removal of a row does not keep the row.
func TestRemovalThatIsBrokenOffIsCarriedOut(t *testing.T) {
	remaining := 0 // only one of its goroutines runs at a time
	leaving := scriptWorker(script{init: func(p *Process) error {
		p.SetCarriedState(walkout{&remaining})
		return nil
	}})
	for name, remove := range map[string]func(ctx context.Context, r *rig) error{
		"when it ends": func(ctx context.Context, r *rig) error {
			return TerminateChild(ctx, r.ref("s"), "a")
		},
		"when its supervisor ends": func(ctx context.Context, r *rig) error {
			return TerminateChild(ctx, r.tree.Ref(), "s")
		},
	} {
		t.Run(name, func(t *testing.T) {
			remaining = 0
			runTree(t, oneChild(Child{ID: "s", Start: Supervisor(Spec{})}), func(t *testing.T, r *rig) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				ref, err := StartChild(ctx, r.ref("s"), Child{ID: "a", Restart: Temporary, Start: leaving})
				if err != nil {
					t.Fatal(err)
				}
				_ = remove(ctx, r) // the supervisor may end before it answers
				time.Sleep(time.Minute)
				synctest.Wait()
				if _, found := r.sys.Whereis("top/s/a"); found || remaining != 1 {
					t.Errorf("found %t, %d left, want it removed", found, remaining)
				}
				if got := ref.row.child().Start.worker(nil); got != (gone{}) {
					t.Errorf("its address keeps the start of %T", got)
				}
			})
		})
	}
}
