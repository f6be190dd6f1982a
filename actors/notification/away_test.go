package notification_test

import (
	"testing"
	"testing/synctest"

	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
)

// A connection is kept for those who listen to it, whether to all servers or to one, unless they are
// away. Who is away still hears of what there is, and counts again from the next registration on.
func TestWhoIsAwayKeepsNoConnection(t *testing.T) {
	run(t, func(r *rig) {
		key, other := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"}, tenant.Key{Share: tenant.ByPrincipal, Principal: "me"}
		box, _ := r.system.Whereis("top/box")
		heard := func(k tenant.Key) bool {
			t.Helper()
			is, err := otp.Do[notification.HeardRequest, bool](r.t.Context(), r.ref, notification.HeardRequest{Server: "files", Key: k})
			if err != nil {
				t.Fatal(err)
			}
			return is
		}
		for _, to := range []notification.Register{
			{Method: notification.All, Key: key}, {Method: notification.Any, Server: "files", Key: key},
		} {
			if heard(key) {
				t.Fatal("heard by nobody")
			}
			to.Handler = notification.Mailbox{Ref: box}
			r.send(&to)
			if !heard(key) || heard(other) {
				t.Errorf("%s: heard over its key %v, over another %v", to.Method, heard(key), heard(other))
			}
			r.send(&notification.Away{Handler: to.Handler})
			if heard(key) {
				t.Errorf("%s: it is away", to.Method)
			}
			r.heard = nil
			r.send(&notification.Dispatch{Server: "files", Key: key, Method: "notifications/message"})
			if synctest.Wait(); len(r.heard) != 1 {
				t.Errorf("%s: told %v", to.Method, r.heard)
			}
			r.send(&to)
			if !heard(key) {
				t.Errorf("%s: it is back", to.Method)
			}
			r.send(&notification.Forget{Handler: to.Handler})
		}
	})
}
