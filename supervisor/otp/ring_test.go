package otp

import (
	"context"
	"errors"
	"testing"
	"time"
)

// F08: two actors wait for each other in their handlers, which they should not do. Both return when
// the time of the first caller is over, because each calls with the context of the call that it
// handles. Both work afterwards, and neither was restarted.
func TestARingOfCallsEnds(t *testing.T) {
	other := map[string]string{"a": "b", "b": "a"}
	var r *rig
	answers := func(id string) Start {
		return scriptWorker(script{receive: func(_ *Process, msg any) error {
			c := msg.(*Call[string, string])
			if c.Req == "ping" {
				c.Reply(id)
				return nil
			}
			got, err := Do[string, string](c.Context(), r.ref(other[id]), c.Req)
			if err != nil {
				c.Fail(err)
				return nil
			}
			c.Reply(got)
			return nil
		}})
	}
	spec := Spec{
		Intensity: Intensity{9, time.Hour},
		Children:  []Child{{ID: "a", Start: answers("a")}, {ID: "b", Start: answers("b")}},
	}
	runTree(t, spec, func(t *testing.T, rig *rig) {
		r = rig
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := Do[string, string](ctx, r.ref("a"), "ring"); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v, want that its time is over", err)
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %s", took)
		}
		for id := range other {
			if got, err := Do[string, string](t.Context(), r.ref(id), "ping"); got != id || err != nil {
				t.Errorf("%s answers %q, %v", id, got, err)
			}
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("they were back after %s", took)
		}
	})
}
