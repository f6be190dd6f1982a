package otp

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// runaway is carried state whose Detach ends the goroutine that calls it.
type runaway struct{ told *error }

func (runaway) Detach() any            { runtime.Goexit(); return nil }
func (h runaway) Abandon(reason error) { *h.told = reason }

// A supervisor's goroutine is ended while the supervisor replaces a stuck child. The replacement
// and all notifications still happen, before the supervisor crashes and is restarted.
func TestDetachThatEndsItsGoroutineCrashesTheSupervisor(t *testing.T) {
	for name, c := range map[string]struct {
		child Child
		hang  func(r *rig)
	}{
		"at a message": {Child{ID: "a", Shutdown: Infinity}, func(*rig) {}},
		"at its end": {Child{ID: "a", Restart: Transient, Shutdown: time.Second}, func(r *rig) {
			go func() { _ = TerminateChild(context.Background(), r.ref("s"), "a") }()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var told error
			handled := false
			c.child.Start = scriptWorker(script{init: func(p *Process) error {
				if p.Incarnation() == 1 {
					p.SetCarriedState(runaway{&told})
				}
				return nil
			}, receive: func(*Process, any) error { handled = true; return nil }})
			below := Spec{
				Intensity: Intensity{10, time.Hour},
				Children:  []Child{c.child, {ID: "b", Start: scriptWorker(script{})}},
			}
			runTree(t, oneChild(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
				held, waits := newHang(), &failer{}
				send(t, r.ref("s/a"), func(*Process) error { <-held.gate; return nil }, waits)
				synctest.Wait()
				c.hang(r)
				time.Sleep(DefaultHardTimeout + 2*time.Second)
				synctest.Wait()
				if got := r.state(); r.ref("s").Incarnation() != 2 || !r.ref("s/b").Alive() ||
					!r.ref("s/a").Alive() {
					t.Errorf("tree %s, want the supervisor restarted", got)
				}
				if waits.err == nil && !handled {
					t.Error("what waited behind the message is lost")
				}
				if n := r.sys.Isolated(); n != 1 || told != nil {
					t.Errorf("%d hung, and the carried state was told %v while one was at it", n, told)
				}
				close(held.gate)
				synctest.Wait()
				if n := r.sys.Isolated(); n != 0 || told == nil {
					t.Errorf("%d hung, and the carried state was told %v, after it came back", n, told)
				}
			})
		})
	}
}

// census counts the incarnations that are ready and not terminated.
type census struct {
	mu   sync.Mutex // guards live
	live map[string]int
}

func (c *census) add(path string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		c.live = map[string]int{}
	}
	if c.live[path] += n; c.live[path] == 0 {
		delete(c.live, path)
	}
}

func (c *census) start() Start {
	return scriptWorker(script{
		init:      func(p *Process) error { c.add(p.Path(), 1); return nil },
		terminate: func(p *Process, _ error) { time.Sleep(time.Second); c.add(p.Path(), -1) },
	})
}

// An Events callback that ends its goroutine crashes the process that sent the event. No process is
// forgotten because of that: all of them end in order, and stuck ones are found.
func TestAnEventThatIsNotReturnedFromIsNoEnd(t *testing.T) {
	kinds := []Event{
		ChildStarted{}, ChildExited{}, ChildRestarted{}, StartFailed{}, IntensityExceeded{},
		SupervisorStopped{}, Abandoned{}, Stuck{}, StateDropped{}, TerminatePanicked{},
	}
	for _, strategy := range []Strategy{OneForOne, RestForOne} {
		for _, kind := range kinds {
			for _, times := range []int{1, 1000} {
				t.Run(fmt.Sprintf("%s/%T/%d", strategy, kind, times), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { leaves(t, strategy, reflect.TypeOf(kind), times) })
				})
			}
		}
	}
}

func leaves(t *testing.T, strategy Strategy, kind reflect.Type, times int) {
	r := newRig(t)
	defer r.close()
	var mu sync.Mutex // guards times
	armed := false
	r.sys = NewSystem(Options{Events: func(e Event) {
		r.event(e)
		mu.Lock()
		leave := armed && reflect.TypeOf(e) == kind && times > 0
		if leave {
			times--
		}
		mu.Unlock()
		if leave {
			runtime.Goexit()
		}
	}})
	all := &census{}
	often := Intensity{20, time.Hour}
	below := Spec{Strategy: strategy, Intensity: Intensity{2, time.Hour}, Children: []Child{
		{ID: "a", Start: all.start()}, {ID: "b", Start: all.start()},
		{ID: "c", Start: Supervisor(Spec{
			Intensity: often, Children: []Child{{ID: "d", Start: all.start()}},
		})},
	}}
	r.tree, r.err = r.sys.Start(context.Background(), "top", Spec{Intensity: often, Children: []Child{
		{ID: "s", Start: Supervisor(below)}, {ID: "h", Start: all.start()},
	}})
	if r.err != nil {
		t.Fatal(r.err)
	}
	mu.Lock()
	armed = true
	mu.Unlock()
	give := func(path string, f func(*Process) error) {
		if ref, ok := r.sys.Whereis("top/" + path); ok {
			_ = ref.Send(f)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	}
	gate := make(chan struct{})
	give("s/a", func(*Process) error { panic(1) })
	give("s/c/d", func(*Process) error { return errTest })
	give("s/a", func(*Process) error { return errTest })
	give("s/a", func(*Process) error { return errTest }) // exceeds the intensity
	give("s/b", func(p *Process) error {
		p.Go("stays", func(context.Context) error { <-gate; return nil })
		p.Go("panics", func(ctx context.Context) error { <-ctx.Done(); panic(1) })
		return errTest
	})
	give("h", func(p *Process) error { p.SetCarriedState(1); <-gate; return nil }) // replaced
	select {
	case <-r.tree.Done():
	default:
		// After this few losses everything has been restarted.
		if times < 500 {
			for _, path := range []string{"s", "s/a", "s/b", "s/c", "s/c/d", "h"} {
				if !r.ref(path).Alive() {
					t.Errorf("tree %s", r.state())
					break
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := r.tree.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	close(gate)
	synctest.Wait()
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, "top/h") // it was stuck, so its Terminate did not run
	if len(all.live) > 0 {
		t.Errorf("%v still run", all.live)
	}
	if n := r.sys.Isolated(); n != 0 {
		t.Errorf("%d hung", n)
	}
}

// The watch continues when the receiver of a Stuck event ends the goroutine.
func TestTheWatchOutlivesWhoListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.sys = NewSystem(Options{Events: func(e Event) {
			r.event(e)
			if _, ok := e.(Stuck); ok {
				runtime.Goexit()
			}
		}})
		d := &diary{}
		r.tree, r.err = r.sys.Start(context.Background(), "top", Spec{
			Intensity: Intensity{10, time.Hour},
			Children:  []Child{{ID: "a", Start: d.start()}, {ID: "b", Start: d.start()}},
		})
		first, second := newHang(), newHang()
		send(t, r.ref("a"), first)
		send(t, r.ref("b"), second)
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if got := r.state(); got != "a#2 b#2" {
			t.Errorf("tree %s", got)
		}
		close(first.gate)
		close(second.gate)
	})
}

// The children of a supervisor end in order, with Terminate, although the supervisor's goroutine is
// ended meanwhile.
func TestAnEndThatIsBrokenOffGoesOn(t *testing.T) {
	for _, how := range []string{"told to", "gives up"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				taken := 0
				r.sys = NewSystem(Options{Events: func(e Event) {
					r.event(e)
					if e, ok := e.(ChildExited); ok && e.Path == "top/s/c" {
						taken++
						runtime.Goexit()
					}
				}})
				below := Spec{Intensity: Intensity{0, time.Hour}, Children: []Child{
					{ID: "a", Start: r.worker("")}, {ID: "b", Shutdown: Infinity, Start: r.worker("")},
					{ID: "c", Start: r.worker("")}, {ID: "d", Start: r.worker("")},
				}}
				r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(Child{
					ID: "s", Restart: Transient, Start: Supervisor(below),
				}))
				synctest.Wait()
				r.trace = nil
				if how == "told to" {
					if err := TerminateChild(context.Background(), r.tree.Ref(), "s"); err != nil {
						t.Error(err)
					}
				} else {
					send(t, r.ref("s/c"), order{"error"})
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				want := map[string][]string{
					"told to": {"-d(shutdown)", "-c(shutdown)", "-b(shutdown)", "-a(shutdown)", "-s(shutdown)"},
					"gives up": {"-c(error)", "-d(shutdown)", "-b(shutdown)", "-a(shutdown)",
						"-s(shutdown:intensity)"},
				}[how]
				if taken != 1 || !slices.Equal(r.trace, want) || len(ofType[Abandoned](r)) != 0 {
					t.Errorf("taken %d times; ended %q, want %q; abandoned %v", taken, r.trace, want,
						ofType[Abandoned](r))
				}
			})
		})
	}
}
