package otp

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// walkout is carried state whose Abandon ends the goroutine that calls it.
type walkout struct{ left *int }

func (l walkout) Abandon(error) { *l.left++; runtime.Goexit() }

// A callback that ends the supervisor's goroutine in the middle of a step ends the supervisor. The
// rest of the step is still performed.
func TestAStepThatIsBrokenOffIsCarriedOut(t *testing.T) {
	for _, strategy := range []Strategy{OneForOne, OneForAll, RestForOne} {
		t.Run(strategy.String(), func(t *testing.T) {
			remaining := 0 // only one of its goroutines runs at a time
			doubtful := scriptWorker(script{init: func(p *Process) error {
				p.SetCarriedState(walkout{&remaining})
				if p.Incarnation() > 1 && remaining == 0 {
					return p.Post("crash")
				}
				return nil
			}, receive: func(_ *Process, msg any) error { panic(msg) }})
			below := Spec{Strategy: strategy, Intensity: Intensity{10, time.Hour}, Children: []Child{
				{ID: "a", Start: doubtful}, {ID: "b", Start: scriptWorker(script{})},
			}}
			runTree(t, oneChild(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
				_ = r.ref("s/a").Send("crash")
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := r.state(); remaining == 0 || r.ref("s").Incarnation() != 2 {
					t.Errorf("%d left, tree %s, want the supervisor restarted", remaining, got)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				if err := r.tree.Shutdown(ctx); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// However a goroutine ends, its process ends too, and its supervisor hears of it.
func TestAGoroutineThatLeavesIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		msg   any
		leave func()
	}{
		"in Fail after a panic":    {leaver{}, func() { panic("x") }},
		"in Fail after Goexit":     {leaver{}, runtime.Goexit},
		"and panics while it does": {"x", func() { defer panic("x"); runtime.Goexit() }},
		"while it panics":          {"x", func() { defer runtime.Goexit(); panic("x") }},
	} {
		t.Run(name, func(t *testing.T) {
			start := scriptWorker(script{receive: func(_ *Process, msg any) error {
				if msg == c.msg {
					c.leave()
				}
				return nil
			}})
			runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
				_ = r.ref("a").Send(c.msg)
				_ = r.ref("a").Send(1)
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := r.state(); got != "a#2" {
					t.Errorf("tree %s, want a restarted", got)
				}
			})
		})
	}
}

// Every message in a closed mailbox is failed, also behind one whose Fail ends the goroutine.
func TestAFailThatLeavesIsNobodyElsesLoss(t *testing.T) {
	t.Run("at its end", func(t *testing.T) {
		runTree(t, oneChild(Child{ID: "a", Restart: Transient, Start: scriptWorker(script{})}),
			func(t *testing.T, r *rig) {
				gate, waiting := make(chan struct{}), []*failer{{}, {}, {}}
				send(t, r.ref("a"), func(*Process) error { <-gate; return nil })
				synctest.Wait()
				send(t, r.ref("a"), waiting[0], leaver{}, waiting[1], leaver{}, leaver{}, waiting[2])
				ended := make(chan error, 1)
				go func() { ended <- TerminateChild(context.Background(), r.tree.Ref(), "a") }()
				synctest.Wait()
				close(gate)
				if err := <-ended; err != nil {
					t.Error(err)
				}
				told(t, ErrNoProc, waiting...)
			})
	})
	// A supervisor that hangs is abandoned with everything below it, on the goroutine of its own
	// supervisor.
	t.Run("with a supervisor that hangs", func(t *testing.T) {
		var g gated
		spec := Spec{Children: []Child{
			{ID: "h", Restart: Temporary, Start: scriptWorker(script{})},
			{ID: "x", Start: scriptWorker(script{})}, {ID: "y", Start: scriptWorker(script{})},
		}}
		above := Spec{
			Intensity: Intensity{10, time.Hour}, Children: []Child{{ID: "s", Start: Supervisor(spec)}},
		}
		runTree(t, oneChild(Child{ID: "m", Start: Supervisor(above)}), func(t *testing.T, r *rig) {
			g.set(make(chan struct{}))
			runInActor(t, r.ref("m/s/h"), func(p *Process) error {
				p.SetCarriedState(stubborn{&g})
				return nil
			})
			gate, waiting := make(chan struct{}), []*failer{{}, {}}
			var contexts []context.Context
			for n, id := range []string{"m/s/x", "m/s/y"} {
				send(t, r.ref(id), func(p *Process) error {
					contexts = append(contexts, p.Context())
					<-gate
					return nil
				})
				synctest.Wait()
				send(t, r.ref(id), leaver{}, waiting[n])
			}
			send(t, r.ref("m/s/h"), func(*Process) error { return Normal }) // and its supervisor hangs
			time.Sleep(DefaultHardTimeout + 2*time.Second)
			synctest.Wait()
			told(t, ErrKilled, waiting...)
			for n, ctx := range contexts {
				if ctx.Err() == nil {
					t.Errorf("%d was not forsaken", n)
				}
			}
			before := r.state()
			if r.ref("m").Incarnation() != 2 {
				t.Errorf("tree %s", before)
			}
			for _, id := range []string{"h", "x", "y"} {
				here := false
				if runInActor(t, r.ref("m/s/"+id), func(*Process) error { here = true; return nil }); !here {
					t.Errorf("%s handles nothing", id)
				}
			}
			close(g.set(nil))
			close(gate)
			synctest.Wait()
			if got := r.state(); got != before || r.sys.Isolated() != 0 {
				t.Errorf("tree %s, %d hung when they are back", got, r.sys.Isolated())
			}
		})
	})
}

// told checks that the waiting messages failed with want.
func told(t *testing.T, want error, waiting ...*failer) {
	t.Helper()
	for n, f := range waiting {
		if f.err != want {
			t.Errorf("letter %d failed with %v, want %v", n, f.err, want)
		}
	}
}

// A supervisor is told to stop, and other code ends its goroutine before it begins to. It stops
// once, and its children end in order.
func TestAStopIsBegunOnce(t *testing.T) {
	for _, strategy := range []Strategy{OneForOne, OneForAll, RestForOne} {
		t.Run(strategy.String(), func(t *testing.T) {
			remaining, ended := 0, false
			var g gated
			below := Spec{Strategy: strategy, Intensity: Intensity{10, time.Hour}, Children: []Child{
				{ID: "slow", Start: scriptWorker(script{terminate: func(*Process, error) {
					time.Sleep(time.Second)
					ended = true
				}})},
				{ID: "h", Restart: Temporary, Start: scriptWorker(script{})},
				{ID: "w", Restart: Temporary, Start: scriptWorker(script{})},
			}}
			runTree(t, oneChild(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
				g.set(make(chan struct{}))
				runInActor(t, r.ref("s/h"), func(p *Process) error {
					p.SetCarriedState(stubborn{&g})
					return nil
				})
				runInActor(t, r.ref("s/w"), func(p *Process) error {
					p.SetCarriedState(walkout{&remaining})
					return nil
				})
				// The end of h makes its supervisor call Abandon of the state.
				runInActor(t, r.ref("s/h"), func(*Process) error { return Normal })
				stopped := make(chan error, 1)
				go func() { stopped <- TerminateChild(context.Background(), r.tree.Ref(), "s") }()
				synctest.Wait()
				// The supervisor handles the end of w between the order and its own end.
				runInActor(t, r.ref("s/w"), func(*Process) error { return Normal })
				close(g.set(nil))
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				if remaining == 0 || !ended || len(ofType[Abandoned](r)) != 0 {
					t.Errorf("%d left; slow ended in order: %t; abandoned: %v", remaining, ended,
						ofType[Abandoned](r))
				}
			})
		})
	}
}

// A stop is not lost when the supervisor has decided to end by itself since, and its goroutine is
// ended in the middle of that.
func TestAStopOutlivesAnEndThatIsBrokenOff(t *testing.T) {
	remaining := 0
	var g gated
	below := Spec{Intensity: Intensity{0, time.Hour}, Children: []Child{
		{ID: "w", Start: scriptWorker(script{})},
		{ID: "h", Restart: Temporary, Start: scriptWorker(script{})},
	}}
	runTree(t, oneChild(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
		g.set(make(chan struct{}))
		runInActor(t, r.ref("s/h"), func(p *Process) error {
			p.SetCarriedState(stubborn{&g})
			return nil
		})
		runInActor(t, r.ref("s/w"), func(p *Process) error {
			p.SetCarriedState(walkout{&remaining})
			return nil
		})
		// The end of h makes its supervisor call Abandon of the state.
		runInActor(t, r.ref("s/h"), func(*Process) error { return Normal })
		stopped := make(chan error, 1)
		go func() { stopped <- TerminateChild(context.Background(), r.tree.Ref(), "s") }()
		synctest.Wait()
		// makes the supervisor give up
		runInActor(t, r.ref("s/w"), func(*Process) error { return errTest })
		close(g.set(nil))
		time.Sleep(time.Minute)
		select {
		case err := <-stopped:
			if err != nil || remaining == 0 {
				t.Errorf("%v, %d left", err, remaining)
			}
		default:
			t.Fatal("it has not stopped")
		}
	})
}
