package client_test

import (
	"errors"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// The calls that an instance holds when it hangs end as soon as it is replaced. A call that had not
// come to it goes to its replacement, which is handed the next calls.
func TestCallOfAnInstanceThatHungEnds(t *testing.T) {
	for kind, taken := range map[string]bool{"client.inbound": true,
		"*client.ClientNotification": false} {
		run(t, shared, func(r *rig) {
			p := r.program(r.dials)
			r.call("one")
			x := r.call("two")
			p.Expect("tools/call")
			q := r.grow()
			m := q.Expect("tools/call")
			letGo := r.Stalls.Arm("other", kind)
			if taken {
				q.Reply(m, `{"content":[]}`)
			} else {
				q.Reply(m, `{"content":[]}`)
				r.WaitIdle()
				r.Send("other", &client.ClientNotification{Method: "notifications/roots/list_changed"})
				x = r.call("two")
				// The call waits there, whatever becomes of the connection that has handed it over.
				if got := (request.Holder{Ref: r.Ref("other")}); x.Holder() != got {
					t.Errorf("held by %+v", x.Holder())
				}
			}
			time.Sleep(otp.DefaultHardTimeout + 2*time.Second)
			next := r.program(r.others)
			if !taken {
				next.Reply(next.Expect("tools/call"), `{"content":[]}`)
			}
			r.WaitIdle()
			if got := r.outcome(x); taken != errors.Is(got.Err, protocol.ConditionUpstreamLost) ||
				!taken && got.Err != nil {
				t.Errorf("%s: %v", kind, got.Err)
			}
			letGo()
			r.WaitIdle()
			y := r.call("two")
			next.Reply(next.Expect("tools/call"), `{"content":[]}`)
			r.WaitIdle()
			if got := r.outcome(y); got.Err != nil {
				t.Errorf("%s: the next: %v", kind, got.Err)
			}
		})
	}
}

// When a first connection hangs, the calls that other instances hold go on there. These instances
// are ended when they have nothing to do, because the next incarnation does not know them.
func TestInstancesOutliveAFirstConnectionThatHung(t *testing.T) {
	for kind, busy := range map[string]bool{"with a call": true, "idle": false} {
		t.Run(kind, func(t *testing.T) {
			run(t, shared, func(r *rig) {
				p := r.program(r.dials)
				mine := r.call("one")
				x := r.call("two")
				p.Expect("tools/call")
				q := r.grow()
				m := q.Expect("tools/call")
				if got := (request.Holder{Ref: r.Ref("other"), Incarnation: 1}); x.Holder() != got ||
					mine.Holder().Ref != r.Ref("conn") {
					t.Errorf("held by %+v and %+v", x.Holder(), mine.Holder())
				}
				if !busy {
					q.Reply(m, `{"content":[]}`)
					r.WaitIdle()
				}
				letGo := r.Stalls.Arm("conn", "*client.ClientNotification")
				r.send(&client.ClientNotification{Method: "notifications/roots/list_changed"})
				time.Sleep(otp.DefaultHardTimeout + 2*time.Second)
				r.program(r.dials)
				if unused := testrig.Of[*client.Unused](&r.catalog.Log); busy != (len(unused) == 0) {
					t.Fatalf("unused %+v", unused)
				}
				if busy {
					q.Reply(m, `{"content":[]}`)
					r.WaitIdle()
				}
				letGo()
				r.WaitIdle()
				if got := r.outcome(x); got.Err != nil {
					t.Error(got.Err)
				}
				if unused := testrig.Of[*client.Unused](&r.catalog.Log); len(unused) == 0 ||
					unused[0].From != r.Ref("other") || unused[0].Key.Instance != 1 {
					t.Errorf("unused %+v", unused)
				}
			})
		})
	}
}

// A message that an instance has nothing to do is out of date once the instance was handed a call.
// The instance is not ended as idle while it works on the call, and the call is not lost when the
// instance hangs.
func TestInstanceThatWasVacantIsBusy(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		waits := r.call("two")
		p.Expect("tools/call")
		time.Sleep(client.Patience)
		r.WaitIdle()
		r.send(&request.Withdraw{ID: waits.ID}) // so that the instance is handed nothing at first
		ref, err := otp.StartChild(r.T.Context(), r.Tree.Ref(), r.other())
		if err != nil {
			t.Fatal(err)
		}
		r.wanted()[0].Reply(client.Instance{
			Ref: ref, Key: tenant.Key{Share: tenant.ByTenant, Instance: 1},
		})
		r.WaitIdle()
		letGo := r.Stalls.Arm("conn", "*client.ClientNotification")
		r.send(&client.ClientNotification{Method: "notifications/roots/list_changed"})
		x := r.call("two")
		// The instance says that it has nothing to do, behind the call.
		q := r.program(r.others)
		letGo()
		m := q.Expect("tools/call")
		time.Sleep(2 * time.Minute)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) != 0 {
			t.Fatalf("it was ended with a call in hand: %+v", got)
		}
		q.Reply(m, `{"content":[]}`)
		time.Sleep(2 * time.Minute)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) != 1 || r.outcome(x).Err != nil {
			t.Errorf("unused: %+v; outcome %v", got, r.outcome(x).Err)
		}
	})
}

// An instance that crashes on a call that it was handed has nothing to do when it is back.
func TestInstanceThatCrashedOfACallIsVacant(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		r.call("two")
		p.Expect("tools/call")
		q := r.grow()
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		r.Break("other", "*client.handed")
		r.call("two")
		r.Struck()
		time.Sleep(time.Second)
		q = r.program(r.others)
		x := r.call("two")
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
		time.Sleep(2 * time.Minute)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) != 1 {
			t.Errorf("unused: %+v", got)
		}
	})
}
