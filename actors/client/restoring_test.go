package client_test

import (
	"fmt"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
)

// A call that has a server started is written when the server has answered what its client wants of
// it: the log level, and the resources that the client watches. A server may handle messages at the
// same time.
func TestCallWaitsForWhatItsClientWants(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				r.attach("one")
				granted := r.setIntent(client.SubscriptionIntent{
					Session: "one", Level: "info", URIs: []string{"test://x"},
				})
				x := r.call("one")
				p := r.readyWithResources() // its requests come in this order, after notifications/initialized
				level, uri := p.Expect("logging/setLevel"), p.Expect("resources/subscribe")
				began := time.Now()
				if answered {
					p.ExpectNothing(time.Second)
					p.Reply(uri, `{}`)
					p.ExpectNothing(time.Second / 2)
					p.Refuse(level, -32602, "not that") // a refusal is an answer too
					<-granted
				}
				late := r.call("one") // it does not overtake the other call
				for range 2 {
					p.Reply(p.Expect("tools/call"), `{"content":[]}`)
				}
				want := time.Second * 3 / 2
				if !answered {
					want = client.RestoreWait
				}
				if got := time.Since(began); got != want {
					t.Errorf("the call came after %v, want %v", got, want)
				}
				r.WaitIdle()
				r.outcome(x)
				r.outcome(late)
			})
		})
	}
}

// The same is true after each end of a server: calls that waited for the next server come after the
// requests that restore what clients wanted.
func TestCallWaitsForWhatIsRestored(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		for range 2 {
			p.Close(nil)
			r.call("one")
			p = r.readyWithResources()
			level := p.Expect("logging/setLevel")
			p.ExpectNothing(client.RestoreWait / 2)
			p.Reply(level, `{}`)
			p.Reply(p.Expect("tools/call"), `{"content":[]}`)
			r.WaitIdle()
		}
	})
}

// An instance is asked for the log level of each session whose call it gets, before the call.
func TestInstanceHasTheLevelBeforeTheCall(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		r.attach("two")
		<-r.setIntent(client.SubscriptionIntent{Session: "one"})
		r.call("one")
		p.Expect("tools/call")
		var q *mcptest.Peer
		for _, level := range []string{"debug", "error"} {
			granted := r.setIntent(client.SubscriptionIntent{Session: "two", Level: level})
			p.Reply(p.Expect("logging/setLevel"), `{}`)
			<-granted
			r.call("two")
			if q == nil {
				q = r.grow()
			}
			m := q.Expect("logging/setLevel")
			q.ExpectNothing(client.RestoreWait / 2)
			q.Reply(m, `{}`)
			q.Reply(q.Expect("tools/call"), `{"content":[]}`)
			r.WaitIdle()
		}
	})
}

// A subscription for which there is no room at once is sent when there is. Otherwise its session
// would be told of no change any more.
func TestSubscriptionsAreRestoredWhenThereIsRoom(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{"test://x"}})
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		<-granted
		p.Close(nil)
		p, up := mcptest.NewPeer(r.T)
		w := &wire{Upstream: up}
		w.full.Store("resources/subscribe")
		r.dials <- dial{up: w}
		p.Handshake(resourceCapabilities)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
		p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
		p.ExpectNothing(time.Second)
		w.full.Store("")
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
	})
}

// Many resources are subscribed to in parts, so that there is room for calls. The subscription
// intent of a session is granted after the last.
func TestSubscriptionsAreAskedForAPartAtATime(t *testing.T) {
	const all, part = 200, 32
	intent := client.SubscriptionIntent{Session: "one"}
	for n := range all {
		intent.URIs = append(intent.URIs, fmt.Sprintf("test://%03d", n))
	}
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		granted, asked := r.setIntent(intent), []jsonrpc.Message{}
		for range part {
			asked = append(asked, p.Expect("resources/subscribe"))
		}
		r.call("one")
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		p.ExpectNothing(time.Second)
		for n := range all {
			if len(granted) > 0 {
				t.Fatalf("granted when %d of %d were answered", n, all)
			}
			p.Reply(asked[n], `{}`)
			if len(asked) < all {
				asked = append(asked, p.Expect("resources/subscribe"))
			}
		}
		if err := <-granted; err != nil {
			t.Error(err)
		}
		r.WaitIdle()
	})
}
