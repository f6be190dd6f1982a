package notification_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// counted checks how many records of a kind the dispatcher reports in its status.
func (r *rig) counted(kind string, want int) {
	r.t.Helper()
	synctest.Wait()
	got := -1
	r.system.Snapshot().Walk(func(n otp.Node) bool {
		if holder, ok := n.Extra.(telemetry.RecordHolder); ok {
			holder.Records(func(is string, n int) bool {
				if is == kind {
					got = n
				}
				return true
			})
		}
		return true
	})
	if got != want {
		r.t.Errorf("%d of %s, want %d", got, kind, want)
	}
}

// A change that two instances report reaches a listener once, and is remembered only for as long as
// the other instances may report it.
func TestChangeOfInstancesIsToldOnce(t *testing.T) {
	run(t, func(r *rig) {
		box, _ := r.system.Whereis("top/box")
		r.send(&notification.Register{Method: notification.Any, Handler: notification.Mailbox{Ref: box}})
		for instance := range uint8(2) {
			r.send(&notification.Dispatch{
				Server: "files", Method: "notifications/resources/updated", URI: "test://x",
				Instance: instance + 1,
			})
			synctest.Wait() // two that wait are merged
		}
		r.counted("told_changes", 1)
		if len(r.heard) != 1 {
			t.Errorf("heard %v, want one", r.heard)
		}
		time.Sleep(2 * notification.DuplicateTime)
		r.counted("told_changes", 0)
	})
}

// A listener that is away is counted until it registers again, is removed or ends.
func TestListenersThatAreAwayAreCounted(t *testing.T) {
	run(t, func(r *rig) {
		key := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"}
		box, _ := r.system.Whereis("top/box")
		to := notification.Mailbox{Ref: box}
		counted := func(want int) { t.Helper(); r.counted("away_listeners", want) }
		for _, ends := range []any{
			&notification.Register{Method: notification.All, Key: key, Handler: to},
			&notification.Forget{Handler: to},
		} {
			r.send(&notification.Away{Handler: notification.Mailbox{}}) // it has no registrations
			r.send(&notification.Register{Method: notification.All, Key: key, Handler: to})
			r.send(&notification.Away{Handler: to})
			counted(1)
			r.send(ends)
			counted(0)
		}
	})
}

// A connection is kept for its listeners, to all servers or to one, unless they are away. A
// listener that is away still gets notifications, and counts again from its next registration on.
func TestWhoIsAwayKeepsNoConnection(t *testing.T) {
	run(t, func(r *rig) {
		key, other := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"}, tenant.Key{
			Share: tenant.ByPrincipal, Principal: "me",
		}
		box, _ := r.system.Whereis("top/box")
		heard := func(k tenant.Key) bool {
			t.Helper()
			is, err := otp.Do[notification.HasListenersRequest, bool](r.t.Context(), r.ref,
				notification.HasListenersRequest{Server: "files", Key: k})
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
