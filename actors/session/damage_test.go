package session_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/session"
	"mcpd/internal/fault"
)

// Whatever a crash has done to what the manager knows, the next incarnation does not crash on it, ends sessions and opens new ones; what the
// index holds goes on.
func TestDamagedManagerKeepsItsSessions(t *testing.T) {
	for seed := range uint64(100) {
		run(t, func(r *rig) {
			r.heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			r.heirs.Whole = []string{"*session.Handle"}
			first, second := r.open(), r.open()
			for _, h := range []*session.Handle{first, second} {
				h.Store(&session.Record{Ready: true})
			}
			f := fault.Fault{Action: fault.Panic, Point: fault.Point{Path: "top/manager"}, Count: 1, Lease: time.Minute}
			if _, err := r.faults.Arm(f); err != nil {
				r.t.Fatal(err)
			}
			_ = r.ref.Send(struct{}{})
			synctest.Wait()
			r.heirs.Rand = nil
			if r.ref.Incarnation() != 2 || r.index.Len() != 2 || r.index.Tenant("acme") != 2 || r.index.Principal(first.Endpoint()) != 2 || len(r.heirs.Done) == 0 {
				t.Errorf("seed %d: incarnation %d, %d sessions after %q", seed, r.ref.Incarnation(), r.index.Len(), r.heirs.Done)
			}
			_ = second.Send(errors.New("crash")) // its actor is followed, and another is attached
			r.open()
			time.Sleep(3 * time.Hour) // nobody uses them
			if r.ref.Incarnation() != 2 || r.index.Len() != 0 || r.index.Tenant("acme") != 0 || r.index.Principal(first.Endpoint()) != 0 {
				t.Errorf("seed %d: incarnation %d, %d sessions at the end after %q", seed, r.ref.Incarnation(), r.index.Len(), r.heirs.Done)
			}
		})
	}
}
