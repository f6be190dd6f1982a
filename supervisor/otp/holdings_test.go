package otp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A snapshot counts what each process holds. Nothing is counted after it was given back, or after
// its incarnation ended.
func TestHoldingsAreCountedAndGivenBack(t *testing.T) {
	type ask = Call[int, int]
	var taken *ask
	answering := scriptWorker(script{receive: func(_ *Process, msg any) error {
		if taken, _ = msg.(*ask); taken != nil {
			taken.AnswerLater()
		}
		return nil
	}})
	spec := Spec{Intensity: Intensity{9, time.Hour}, Children: []Child{
		{ID: "a", Start: scriptWorker(script{})}, {ID: "b", Start: scriptWorker(script{})},
		{ID: "c", Start: answering},
	}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		want := func(when string, a, b, c Holdings) {
			t.Helper()
			synctest.Wait()
			for i, n := range r.sys.Snapshot().Children[0].Children {
				if want := []Holdings{a, b, c}[i]; n.Holds != want {
					t.Errorf("%s: %s holds %+v, want %+v", when, n.ID, n.Holds, want)
				}
			}
		}
		var timer, other Timer
		refB := r.ref("b")
		hold := func(p *Process) error {
			p.Monitor(refB)
			p.Monitor(refB)
			timer, other = p.After(time.Hour, 1), p.After(time.Minute, 2)
			return nil
		}
		full := Holdings{Monitors: 1, Timers: 2}
		watched := Holdings{Watchers: 1}
		want("at first", Holdings{}, Holdings{}, Holdings{})
		runInActor(t, r.ref("a"), hold)
		want("after two monitors of one and two timers", full, watched, Holdings{})
		runInActor(t, r.ref("a"), func(p *Process) error { p.Demonitor(refB); timer.Stop(); return nil })
		want("after the monitor and one timer were taken back", Holdings{Timers: 1},
			Holdings{}, Holdings{})
		time.Sleep(2 * time.Minute)
		want("after the other timer fired", Holdings{}, Holdings{}, Holdings{})
		if other.Stop() {
			t.Error("the other timer had not fired")
		}
		runInActor(t, r.ref("a"), hold)
		runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		want("after the incarnation that held them crashed", Holdings{}, Holdings{}, Holdings{})
		runInActor(t, r.ref("a"), hold)
		runInActor(t, refB, func(*Process) error { return errTest })
		want("after what was monitored crashed", Holdings{Timers: 2}, Holdings{}, Holdings{})

		asked := make(chan error, 1)
		go func() {
			_, err := Do[int, int](context.Background(), r.ref("c"), 1)
			asked <- err
		}()
		want("with a call that is not answered", Holdings{Timers: 2}, Holdings{}, Holdings{Replies: 1})
		taken.Reply(1)
		if err := <-asked; err != nil {
			t.Error(err)
		}
		want("with the call answered", Holdings{Timers: 2}, Holdings{}, Holdings{})
	})
}
