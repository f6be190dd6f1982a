// Package testrig runs actors in tests: under a real supervisor, in a bubble of virtual time, among
// boxes that stand in for other actors and record the messages that they receive. It knows no
// actor.
package testrig

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Rig is a running tree called "top".
type Rig struct {
	T             *testing.T // of the bubble
	System        *otp.System
	Faults        *fault.Registry
	Tree          *otp.Tree
	Events        Log // events that the actors emitted
	CrashRestored CrashRestored
	Stalls        Stalls
}

// Run starts a tree and runs a test of it, in a bubble: time is virtual, and WaitIdle returns when
// all goroutines are blocked. The children are made from the rig because they need its system.
// Restarts are not bounded.
func Run(t *testing.T, children func(s *Rig) []otp.Child, test func(s *Rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &Rig{T: t, Faults: fault.New(clock.System)}
		s.System = otp.NewSystem(otp.Options{
			Faults: s.Faults, Events: telemetry.Supervision(s.dropped, nil),
		})
		defer s.close()
		var err error
		s.Tree, err = s.System.Start(t.Context(), "top", otp.Spec{
			Intensity: otp.Intensity{Restarts: 1000, Within: time.Second}, Children: children(s),
		})
		if err != nil {
			t.Fatal(err)
		}
		test(s)
	})
}

// close ends all actors, and gives those that still exit a minute of virtual time.
func (s *Rig) close() {
	s.Stalls.end()
	s.System.Close()
	moment := make(chan struct{})
	clock.System.AfterFunc(time.Minute, func() { close(moment) })
	<-moment
}

// dropped records the carried state that was dropped after a crash. The actors under test do not
// depend on the other events of supervisors.
func (s *Rig) dropped(e telemetry.Event) {
	if d, ok := e.(telemetry.StateDropped); ok {
		s.Events.Emit(d)
	}
}

// WaitIdle waits until all goroutines are blocked.
func (s *Rig) WaitIdle() { synctest.Wait() }

// Ref returns the address of a row below the top.
func (s *Rig) Ref(row string) otp.Ref {
	s.T.Helper()
	ref, ok := s.System.Whereis("top/" + row)
	if !ok {
		s.T.Fatalf("no row %s", row)
	}
	return ref
}

// Send sends a message to a row, and waits until all goroutines are blocked.
func (s *Rig) Send(row string, msg any) {
	s.T.Helper()
	if err := s.Ref(row).Send(msg); err != nil {
		s.T.Fatalf("%s: %v", row, err)
	}
	s.WaitIdle()
}

// Break makes a row panic on its next message of a kind, as %T prints it; empty is any.
func (s *Rig) Break(row, kind string) {
	s.T.Helper()
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Path: "top/" + row, Kind: kind}, Count: 1,
		Lease: time.Minute,
	}
	if _, err := s.Faults.Arm(f); err != nil {
		s.T.Fatal(err)
	}
}

// DropsState crashes a row that is made with CrashRestored.Worker: on its next message of a kind,
// which send causes, and then on its carried state until that is dropped. It checks that the drop
// was reported, and that no other row has restarted.
func (s *Rig) DropsState(row, kind string, send func()) {
	s.T.Helper()
	s.CrashRestored.Fatal = true
	s.Break(row, kind)
	send()
	s.Struck()
	s.CrashRestored.Fatal = false
	path := "top/" + row
	if all := Of[telemetry.StateDropped](&s.Events); len(all) != 1 || all[0].Path != path {
		s.T.Errorf("told: %+v, want that all of %s was dropped", all, path)
	}
	for _, n := range s.Tree.Snapshot().Children {
		if gone := n.Path == path; gone != (n.Restarts > 0) {
			s.T.Errorf("%s: %d restarts", n.Path, n.Restarts)
		}
	}
}

// Struck checks that every fault has struck.
func (s *Rig) Struck() {
	s.T.Helper()
	s.WaitIdle()
	for _, f := range s.Faults.Active() {
		s.T.Errorf("the fault at %s %s has not struck", f.Point.Path, f.Point.Kind)
	}
}

// Ask makes a call to a row.
func Ask[Req, Resp any](s *Rig, row string, req Req) (Resp, error) {
	s.T.Helper()
	return otp.Do[Req, Resp](s.T.Context(), s.Ref(row), req)
}
