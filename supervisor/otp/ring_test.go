package otp

import (
	"context"
	"errors"
	"testing"
	"time"
)

// F08: two actors that wait for one another in their handlers, which they should not, come back when whoever asked the first has waited for as
// long as he said: each asks with the context of the question that it was asked. Both serve afterwards, and neither was restarted.
func TestARingOfCallsEnds(t *testing.T) {
	other := map[string]string{"a": "b", "b": "a"}
	var r *rig
	answers := func(id string) Start {
		return scriptOf(script{receive: func(_ *Process, msg any) error {
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
	spec := Spec{Intensity: Intensity{9, time.Hour}, Children: []Child{{ID: "a", Start: answers("a")}, {ID: "b", Start: answers("b")}}}
	bubble(t, spec, func(t *testing.T, rig *rig) {
		r = rig
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := Do[string, string](ctx, r.ref("a"), "ring"); !errors.Is(err, context.DeadlineExceeded) {
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
