package otp

import (
	"context"
	"testing"
	"time"

	"mcpd/internal/fault"
)

// arm arms a fault at a row for a minute.
func arm(t *testing.T, faults *fault.Registry, f fault.Fault) {
	t.Helper()
	f.Lease = time.Minute
	if _, err := faults.Arm(f); err != nil {
		t.Fatal(err)
	}
}

// A duplicated message is handled twice, a dropped one never. Its caller gets one answer, or none.
func TestMessagesAreDuplicatedAndDropped(t *testing.T) {
	faulty(t, oneChild(Child{ID: "a", Start: counter()}),
		func(t *testing.T, r *rig, faults *fault.Registry) {
			a := fault.Point{Path: "top/a"}
			arm(t, faults, fault.Fault{Action: fault.Duplicate, Point: a, Count: 1})
			if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 1 || err != nil {
				t.Errorf("duplicated: answered %d, %v, want the first answer", n, err)
			}
			arm(t, faults, fault.Fault{Action: fault.Drop, Point: a, Count: 1})
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if n, err := Do[string, int](ctx, r.ref("a"), "x"); err == nil {
				t.Errorf("dropped: answered %d", n)
			}
			if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 3 || err != nil {
				t.Errorf("healed: answered %d, %v, want the third message that was handled", n, err)
			}
		})
}

// A start that fails because of a fault is a failed start. It is tried again within the intensity.
func TestAStartThatAFaultMakesFail(t *testing.T) {
	faulty(t, Spec{Intensity: Intensity{5, time.Hour}, Children: []Child{{ID: "a", Start: counter()}}},
		func(t *testing.T, r *rig, faults *fault.Registry) {
			arm(t, faults, fault.Fault{
				Action: fault.Fail, Point: fault.Point{Place: fault.Init, Path: "top/a"}, Count: 2,
			})
			arm(t, faults, fault.Fault{Action: fault.Panic, Point: fault.Point{Path: "top/a"}, Count: 1})
			_, _ = Do[string, int](context.Background(), r.ref("a"), "x")
			if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 1 || err != nil {
				t.Errorf("answered %d, %v", n, err)
			}
			if got := r.ref("a").row.inc.Load(); got != 4 {
				t.Errorf("incarnation %d, want 4: one that panicked, two that did not start, one that works",
					got)
			}
		})
}
