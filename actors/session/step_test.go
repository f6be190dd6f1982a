package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/session"
	"mcpd/supervisor/otp"
)

// F54: a session ends when its idle time or its age is over, and not before, whatever steps the
// machine's clock makes.
func TestStepOfTheClockAgesNoSession(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour} {
		for _, old := range []bool{false, true} {
			run(t, func(r *rig) {
				if old {
					r.age.Store(int64(time.Hour))
				}
				h := r.open()
				sweep := func(lasts bool) {
					r.t.Helper()
					_, err := otp.Do[session.SweepRequest, int](r.t.Context(), r.ref, session.SweepRequest{})
					if synctest.Wait(); err != nil || r.there(h) != lasts {
						t.Errorf("stepped by %s, by age %v: there is %v, want %v; %v", step, old,
							r.there(h), lasts, err)
					}
				}
				time.Sleep(50 * time.Minute)
				r.clock.Set(step)
				if got := h.Idle(r.clock.Now()); got != 50*time.Minute {
					t.Errorf("stepped by %s: idle for %s", step, got)
				}
				if got := r.clock.Now().Round(0).Sub(h.LastActive().Round(0)); got != 50*time.Minute {
					t.Errorf("stepped by %s: last active %s ago by the hour", step, got)
				}
				sweep(true)
				time.Sleep(9 * time.Minute)
				sweep(true)
				time.Sleep(time.Minute + time.Second)
				sweep(false)
			})
		}
	}
}
