package otp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// abandonRecorder is carried state.
type abandonRecorder struct{ dropped []error }

func (h *abandonRecorder) Abandon(reason error) { h.dropped = append(h.dropped, reason) }

func (r *rig) droppedEvents() (list []string) {
	for _, e := range ofType[StateDropped](r) {
		list = append(list, fmt.Sprintf("%s#%d %s", e.Path, e.Incarnation, e.Reason))
	}
	return list
}

// Carried state that crashes each incarnation right after its start is dropped. Siblings are not
// affected.
func TestCarriedStateThatCrashesEveryIncarnationIsAbandoned(t *testing.T) {
	for name, poison := range map[string]func(p *Process){
		"in Init":    func(*Process) { panic("poison") },
		"by a timer": func(p *Process) { p.After(10*time.Millisecond, "poison") },
		"by its own": func(p *Process) { _ = p.Post("poison") },
		"in a goroutine": func(p *Process) {
			p.Go("io", func(context.Context) error { panic("poison") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &abandonRecorder{}
			start := scriptWorker(script{
				init: func(p *Process) error {
					if p.CarriedState() != nil {
						poison(p)
					}
					return nil
				},
				receive: func(_ *Process, msg any) error { panic(msg) },
			})
			spec := Spec{
				Intensity: Intensity{5, 10 * time.Second},
				Children:  []Child{{ID: "a", Start: start}, {ID: "b", Start: scriptWorker(script{})}},
			}
			runTree(t, spec, func(t *testing.T, r *rig) {
				runInActor(t, r.ref("a"), func(p *Process) error { p.SetCarriedState(h); panic("crash") })
				time.Sleep(time.Second)
				synctest.Wait()
				if got := r.state(); got != "a#5 b#1" {
					t.Errorf("tree %s", got)
				}
				if len(h.dropped) != 1 || len(r.droppedEvents()) != 1 ||
					r.droppedEvents()[0] != "top/a#4 crashes with it" {
					t.Errorf("abandoned %v, events %q", h.dropped, r.droppedEvents())
				}
			})
		})
	}
}

// A message that crashes its receiver is gone with the crash, so the carried state is not to blame.
// Nor is it for an end without a panic, or for a later crash.
func TestCarriedStateIsKeptAfterOtherFailures(t *testing.T) {
	crash := func(*Process) error { panic("message") }
	for name, end := range map[string]func(t *testing.T, r *rig){
		"messages": func(t *testing.T, r *rig) { runInActor(t, r.ref("a"), crash) },
		"errors": func(t *testing.T, r *rig) {
			runInActor(t, r.ref("a"), func(*Process) error { return errTest })
		},
		"late": func(t *testing.T, r *rig) {
			runInActor(t, r.ref("a"), func(p *Process) error {
				p.After(carriedBlameTime, crash)
				return nil
			})
			time.Sleep(carriedBlameTime)
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &abandonRecorder{}
			spec := oneChild(Child{ID: "a", Start: scriptWorker(script{})})
			spec.Intensity.Restarts = 5
			runTree(t, spec, func(t *testing.T, r *rig) {
				runInActor(t, r.ref("a"), func(p *Process) error { p.SetCarriedState(h); return nil })
				for range 4 {
					end(t, r)
				}
				if got := r.state(); got != "a#5" || len(h.dropped) != 0 {
					t.Errorf("tree %s, abandoned %v", got, h.dropped)
				}
			})
		})
	}
}

// Before the last restart that the intensity allows, carried state is dropped even if only messages
// crashed: otherwise it would be lost with that of all siblings.
func TestLastRestartIsTriedWithoutCarriedState(t *testing.T) {
	h, other := &abandonRecorder{}, &abandonRecorder{}
	spec := Spec{
		Intensity: Intensity{5, time.Hour},
		Children: []Child{
			{ID: "a", Start: scriptWorker(script{})}, {ID: "b", Start: scriptWorker(script{})},
		},
	}
	runTree(t, spec, func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error { p.SetCarriedState(h); return nil })
		runInActor(t, r.ref("b"), func(p *Process) error { p.SetCarriedState(other); return nil })
		for range 5 {
			runInActor(t, r.ref("a"), func(*Process) error { panic(errTest) })
		}
		if len(h.dropped) != 1 || !errors.Is(h.dropped[0], errTest) || len(other.dropped) != 0 {
			t.Errorf("abandoned %v and %v", h.dropped, other.dropped)
		}
		if got := r.state(); got != "a#6 b#1" {
			t.Errorf("tree %s", got)
		}
	})
}
