package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

// patient is a worker that a fault makes crash.
type patient struct{ otp.Base }

func (patient) Receive(*otp.Process, any) error { return nil }

// A crash in a real tree is injected, counted, and remembered with its frames. All events from
// the fault to the restart have one incident.
func TestACrashInARealTreeIsSeen(t *testing.T) {
	metrics := NewMetrics(MetricsOptions{})
	recorder := NewRecorder(Options{Metrics: metrics})
	restarted := make(chan struct{})
	faults := fault.New(nil)
	supervision := Supervision(recorder.Emit, nil)
	system := otp.NewSystem(otp.Options{Faults: faults, Events: func(e otp.Event) {
		supervision(e)
		if _, ok := e.(otp.ChildRestarted); ok {
			close(restarted)
		}
	}})
	defer system.Close()
	tree, err := system.Start(t.Context(), "mcpd", otp.Spec{Children: []otp.Child{
		{ID: "patient", Label: "patient", Start: otp.Worker(func() otp.Behaviour { return patient{} })},
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := faults.Arm(fault.Fault{
		Action: fault.Panic, Point: fault.Point{Path: "mcpd/patient"}, Count: 1, Lease: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := system.Whereis("mcpd/patient")
	if err := ref.Send("anything"); err != nil {
		t.Fatal(err)
	}
	<-restarted
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := tree.Shutdown(ctx); err != nil && !errors.Is(err, otp.ErrShutdown) {
		t.Error(err)
	}
	recorder.Flush()

	var story []string
	var incident string
	records, first, _ := recorder.Recent().Since(0)
	for i, r := range records {
		e := r.Proto(first + uint64(i))
		if e.GetPath() != "mcpd/patient" || e.GetLevel() == "debug" {
			continue
		}
		story = append(story, e.GetName())
		if incident == "" {
			incident = e.GetIncident()
		}
		if e.GetIncident() != incident || incident == "" {
			t.Errorf("%s has incident %q, want %q", e.GetName(), e.GetIncident(), incident)
		}
		if c := e.GetCrash(); c != nil &&
			(c.GetMessageKind() != "string" ||
				!strings.Contains(c.GetStack(), "fault.(*Registry).BeforeReceive") ||
				e.GetFields()["fault"] != id) {
			t.Errorf("crash %v, fields %v", c, e.GetFields())
		}
	}
	if got := strings.Join(story, " "); got != "fault_hit child_crashed child_restarted" {
		t.Errorf("story: %s", got)
	}
	if got := value(t, metrics, "mcpd_actor_crashes_total", "patient", "injected"); got != 1 {
		t.Errorf("%v injected crashes counted, want 1", got)
	}
	if got := value(t, metrics, "mcpd_actor_restarts_total", "patient", "in_place"); got != 1 {
		t.Errorf("%v restarts in place counted, want 1", got)
	}
}
