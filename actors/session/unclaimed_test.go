package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/session"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// A session whose opener no longer waits for it ends at once, because no client will ever know its
// id.
func TestSessionForNobodyEnds(t *testing.T) {
	run(t, func(r *rig) {
		f := fault.Fault{
			Action: fault.Slow, Point: fault.Point{Place: fault.Init, Path: "top/pool/*"},
			Delay: time.Second, Count: 1, Lease: time.Minute,
		}
		if _, err := r.faults.Arm(f); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := otp.Do[session.OpenRequest, *session.Handle](ctx, r.ref, session.OpenRequest{
			Endpoint: streamable.Endpoint{Tenant: "acme"},
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("opened: %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := r.index.Len(); n != 0 || len(r.closed) != 1 {
			t.Errorf("%d sessions, ended %+v", n, r.closed)
		}
	})
}
