package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func (r *rig) reload() {
	r.t.Helper()
	if _, err := otp.Do[session.ReloadRequest, struct{}](r.t.Context(), r.ref,
		session.ReloadRequest{}); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// Sessions at an endpoint that is no longer configured end: at once if they have no call in flight,
// and otherwise when it has ended or the time is up.
func TestSessionsOfWhatIsGoneEnd(t *testing.T) {
	for name, finish := range map[string]bool{"calls end": true, "calls last": false} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				idle, busy := r.open(), r.open()
				x := &request.Exchange{ID: 7}
				busy.Calls().Add(x)
				r.reload()
				if !r.there(idle) || !r.there(busy) {
					t.Fatal("a reload that takes nothing away ends sessions")
				}
				r.gone.Store(idle.Endpoint(), true)
				r.reload()
				if r.there(idle) || !r.there(busy) {
					t.Errorf("there: the idle one %t, the busy one %t", r.there(idle), r.there(busy))
				}
				if finish {
					busy.Ended(x, false)
					time.Sleep(100 * time.Millisecond)
				} else {
					time.Sleep(9 * time.Second)
					if !r.there(busy) {
						t.Fatal("it was cut off before its time")
					}
					time.Sleep(2 * time.Second)
				}
				synctest.Wait()
				if r.there(busy) {
					t.Error("the busy one is there")
				}
				for _, e := range r.closed {
					if e.Cause != telemetry.ClosedUnconfigured {
						t.Errorf("ended because %s", e.Cause)
					}
				}
			})
		})
	}
}

// If the endpoint is configured again while its sessions have calls, the sessions stay.
func TestSessionsOfWhatComesBackStay(t *testing.T) {
	run(t, func(r *rig) {
		busy := r.open()
		busy.Calls().Add(&request.Exchange{ID: 7})
		r.gone.Store(busy.Endpoint(), true)
		r.reload()
		r.gone.Delete(busy.Endpoint())
		time.Sleep(time.Minute)
		synctest.Wait()
		if !r.there(busy) {
			t.Error("it ended")
		}
	})
}

// A manager that crashes still ends the sessions that were to end.
func TestSessionsOfWhatIsGoneEndAfterACrash(t *testing.T) {
	run(t, func(r *rig) {
		busy, x := r.open(), &request.Exchange{ID: 7}
		busy.Calls().Add(x)
		r.gone.Store(busy.Endpoint(), true)
		r.reload()
		f := fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "top/manager"}, Count: 1, Lease: time.Minute,
		}
		if _, err := r.faults.Arm(f); err != nil {
			t.Fatal(err)
		}
		_ = r.ref.Send(struct{}{})
		synctest.Wait()
		busy.Ended(x, false)
		time.Sleep(time.Second)
		synctest.Wait()
		if r.there(busy) {
			t.Error("it is there")
		}
	})
}
