package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// Calls that are not to wait run on another instance while a user is asked. The sessions that have
// subscribed to what these calls change are told, whether they subscribed before or after the
// instance was started.
func TestInstancesAreSubscribedToo(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		subscribe := func(uri string) {
			granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{uri}})
			p.Reply(p.Expect("resources/subscribe"), `{}`)
			<-granted
		}
		subscribe("test://before")
		r.asks(p)
		second := r.call("two")
		q := r.grow()
		first := q.Expect("resources/subscribe")
		if string(first.Params) != `{"uri":"test://before"}` {
			t.Errorf("the instance hears of %s", first.Params)
		}
		q.ExpectNothing(time.Second) // the call may change the resource
		q.Reply(first, `{}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		r.outcome(second)
		subscribe("test://after")
		q.Reply(q.Expect("resources/subscribe"), `{}`)

		r.send(client.Detach{Ref: r.Ref("one")})
		time.Sleep(time.Second)
		for range 2 {
			q.Reply(q.Expect("resources/unsubscribe"), `{}`)
		}
		q.ExpectNothing(time.Second)
	})
}

// An instance that hung is replaced by one that knows nothing, which is told of all resources
// again.
func TestInstanceThatHungIsSubscribedAgain(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{"test://x"}})
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		<-granted
		r.asks(p)
		r.call("two")
		q := r.grow()
		q.Reply(q.Expect("resources/subscribe"), `{}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		letGo := r.Stalls.Arm("other", "*client.ClientNotification")
		r.Send("other", &client.ClientNotification{Method: "notifications/roots/list_changed"})
		time.Sleep(otp.DefaultHardTimeout + 2*time.Second)
		r.program(r.others).Expect("resources/subscribe")
		letGo()
		r.WaitIdle()
	})
}

// An unsolicited message of an instance may be about a resource of another session than those whose
// calls it was given. If several principals share the server, no session is told.
func TestInstanceMaySpeakOfASubscription(t *testing.T) {
	for name, follows := range map[string]bool{"subscribed": true, "not subscribed": false} {
		t.Run(name, func(t *testing.T) {
			run(t, shared, func(r *rig) {
				p := r.program(r.dials)
				r.uses("one", "alice")
				r.uses("two", "bob")
				if follows {
					granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{"test://x"}})
					p.Reply(p.Expect("resources/subscribe"), `{}`)
					<-granted
				}
				r.asks(p)
				x := r.exchange("two", "tools/call", `{"name":"b"}`)
				x.Principal = "bob"
				r.send(&request.Forward{Exchange: x})
				q := r.grow()
				if follows {
					q.Reply(q.Expect("resources/subscribe"), `{}`)
				}
				q.Reply(q.Expect("tools/call"), `{"content":[]}`)
				r.WaitIdle()
				r.dispatcher.Forget()
				q.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":"x"}`)
				r.WaitIdle()
				got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log)
				if follows != (len(got) == 0) || !follows && got[0].Principal != "bob" {
					t.Errorf("dispatched %+v", got)
				}
			})
		})
	}
}

// A server that does not answer a subscription holds up the calls of an instance no longer than
// those of a server that starts, whether the subscription was made before the instance or after.
func TestCallsOfAnInstanceWaitForItsSubscriptionsBriefly(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		subscribe := func(uri string) {
			granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{uri}})
			p.Reply(p.Expect("resources/subscribe"), `{}`)
			<-granted
		}
		subscribe("test://before")
		r.asks(p)
		r.call("two")
		q := r.grow()
		for range 2 {
			q.Expect("resources/subscribe")
			began := time.Now()
			q.Reply(q.Expect("tools/call"), `{"content":[]}`)
			if got := time.Since(began); got != client.RestoreWait {
				t.Errorf("the call came after %v, want %v", got, client.RestoreWait)
			}
			r.WaitIdle()
			if len(r.outcomes()) == 1 {
				subscribe("test://after")
				r.call("two")
			}
		}
	})
}
