package otp

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// walkout is an heir whose Abandon takes the goroutine that calls it with it.
type walkout struct{ left *int }

func (l walkout) Abandon(error) { *l.left++; runtime.Goexit() }

// A callback that ends the supervisor's goroutine in the middle of a step ends the supervisor, and nobody waits for what the step had still to do.
func TestAStepThatIsBrokenOffIsCarriedOut(t *testing.T) {
	for _, strategy := range []Strategy{OneForOne, OneForAll, RestForOne} {
		t.Run(strategy.String(), func(t *testing.T) {
			left := 0 // only one of its goroutines runs at a time
			doubtful := scriptOf(script{init: func(p *Process) error {
				p.SetHeir(walkout{&left})
				if p.Incarnation() > 1 && left == 0 {
					return p.Post("crash")
				}
				return nil
			}, receive: func(_ *Process, msg any) error { panic(msg) }})
			below := Spec{Strategy: strategy, Intensity: Intensity{10, time.Hour}, Children: []Child{
				{ID: "a", Start: doubtful}, {ID: "b", Start: scriptOf(script{})},
			}}
			bubble(t, one(Child{ID: "s", Start: Supervisor(below)}), func(t *testing.T, r *rig) {
				_ = r.ref("s/a").Send("crash")
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := r.state(); left == 0 || r.ref("s").Incarnation() != 2 {
					t.Errorf("%d left, tree %s, want the supervisor restarted", left, got)
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

// However a goroutine leaves, its process ends, and its supervisor hears of it.
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
			start := scriptOf(script{receive: func(_ *Process, msg any) error {
				if msg == c.msg {
					c.leave()
				}
				return nil
			}})
			bubble(t, one(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
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
