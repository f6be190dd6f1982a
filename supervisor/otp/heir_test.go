package otp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// will is an heir of which parts may be bad.
type will struct {
	failer
	parts   []string
	dropped []error
}

func (h *will) Abandon(reason error) { h.dropped = append(h.dropped, reason) }

// repair drops the bad parts and panics on one that it had not expected.
func (h *will) repair() (dropped []Dropped) {
	h.parts = slices.DeleteFunc(h.parts, func(part string) bool {
		if part == "unheard of" {
			panic("part " + part)
		}
		if strings.HasPrefix(part, "bad") {
			dropped = append(dropped, Dropped{part, "is bad", h})
		}
		return strings.HasPrefix(part, "bad")
	})
	return dropped
}

// heirs is a worker that takes over a will, and makes one when there is none.
func heirs(got *[]string) Start {
	return scriptOf(script{init: func(p *Process) error {
		h, ok := Inherit(p, (*will).repair)
		if !ok {
			h = &will{}
			p.SetHeir(h)
		}
		*got = append(*got, fmt.Sprint(ok, h.parts))
		return nil
	}})
}

func (r *rig) dropped() (list []string) {
	for _, e := range ofType[HeirDropped](r) {
		list = append(list, fmt.Sprintf("%s#%d %s: %s x%d", e.Path, e.Incarnation, e.Part, e.Reason, e.Count))
	}
	return list
}

func TestInheritTakesOverWhatIsSound(t *testing.T) {
	var got []string
	bubble(t, one(Child{ID: "a", Start: heirs(&got)}), func(t *testing.T, r *rig) {
		leave := func(heir any) {
			tell(t, r.ref("a"), func(p *Process) error { p.SetHeir(heir); panic("crash") })
		}
		kept, broken := &will{parts: []string{"bad", "good", "bad", "bad too"}}, &will{parts: []string{"good", "unheard of"}}
		leave(kept)
		leave(broken)
		leave("something else")
		if want := []string{"false []", "true [good]", "false []", "false []"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		want := []string{
			"top/a#2 bad: is bad x2", "top/a#2 bad too: is bad x1",
			"top/a#3 all: repair: panic: part unheard of x1", "top/a#4 all: heir is a string, not a *otp.will x1",
		}
		if events := r.dropped(); !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
		if kept.err != ErrDamaged || broken.err != nil {
			t.Errorf("who waited was told %v and %v", kept.err, broken.err)
		}
		if len(kept.dropped) != 0 || len(broken.dropped) != 1 {
			t.Errorf("abandoned: %v, %v; want only what could not be repaired", kept.dropped, broken.dropped)
		}
		if n := r.tree.Snapshot().Children[0]; n.Restarts != 3 {
			t.Errorf("%d restarts, want none but those of the crashes themselves", n.Restarts)
		}
	})
}

// What an heir has in it that crashes each incarnation right after its start costs the heir, not the siblings.
func TestAnHeirThatCrashesEveryIncarnationIsAbandoned(t *testing.T) {
	for name, poison := range map[string]func(p *Process){
		"in Init":        func(*Process) { panic("poison") },
		"by a timer":     func(p *Process) { p.After(10*time.Millisecond, "poison") },
		"by its own":     func(p *Process) { _ = p.Post("poison") },
		"in a goroutine": func(p *Process) { p.Go("io", func(context.Context) error { panic("poison") }) },
	} {
		t.Run(name, func(t *testing.T) {
			h := &will{}
			start := scriptOf(script{
				init: func(p *Process) error {
					if p.Heir() != nil {
						poison(p)
					}
					return nil
				},
				receive: func(_ *Process, msg any) error { panic(msg) },
			})
			spec := Spec{Intensity: Intensity{5, 10 * time.Second}, Children: []Child{{ID: "a", Start: start}, {ID: "b", Start: scriptOf(script{})}}}
			bubble(t, spec, func(t *testing.T, r *rig) {
				tell(t, r.ref("a"), func(p *Process) error { p.SetHeir(h); panic("crash") })
				time.Sleep(time.Second)
				synctest.Wait()
				if got := r.state(); got != "a#5 b#1" {
					t.Errorf("tree %s", got)
				}
				if len(h.dropped) != 1 || len(r.dropped()) != 1 || r.dropped()[0] != "top/a#4 all: crashes with it x1" {
					t.Errorf("abandoned %v, events %q", h.dropped, r.dropped())
				}
			})
		})
	}
}

// A message that crashes its receiver is gone with the crash, so it says little about the heir; nor does an end without a panic, nor a crash
// later on.
func TestAnHeirIsNotAbandonedForWhatItDidNotDo(t *testing.T) {
	crash := func(*Process) error { panic("message") }
	for name, end := range map[string]func(t *testing.T, r *rig){
		"messages": func(t *testing.T, r *rig) { tell(t, r.ref("a"), crash) },
		"errors":   func(t *testing.T, r *rig) { tell(t, r.ref("a"), func(*Process) error { return errTest }) },
		"late": func(t *testing.T, r *rig) {
			tell(t, r.ref("a"), func(p *Process) error { p.After(heirTrial, crash); return nil })
			time.Sleep(heirTrial)
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &will{}
			spec := one(Child{ID: "a", Start: scriptOf(script{})})
			spec.Intensity.Restarts = 5
			bubble(t, spec, func(t *testing.T, r *rig) {
				tell(t, r.ref("a"), func(p *Process) error { p.SetHeir(h); return nil })
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

// With the last restart that its supervisor may make, an heir that only messages crash with is given up too: it would be lost with everybody's.
func TestTheLastRestartIsTriedWithoutTheHeir(t *testing.T) {
	h, other := &will{}, &will{}
	spec := Spec{Intensity: Intensity{5, time.Hour}, Children: []Child{{ID: "a", Start: scriptOf(script{})}, {ID: "b", Start: scriptOf(script{})}}}
	bubble(t, spec, func(t *testing.T, r *rig) {
		tell(t, r.ref("a"), func(p *Process) error { p.SetHeir(h); return nil })
		tell(t, r.ref("b"), func(p *Process) error { p.SetHeir(other); return nil })
		for range 5 {
			tell(t, r.ref("a"), func(*Process) error { panic(errTest) })
		}
		if len(h.dropped) != 1 || !errors.Is(h.dropped[0], errTest) || len(other.dropped) != 0 {
			t.Errorf("abandoned %v and %v", h.dropped, other.dropped)
		}
		if got := r.state(); got != "a#6 b#1" {
			t.Errorf("tree %s", got)
		}
	})
}
