package client_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// A subscription was in force, its stream has ended, and opening it again fails. Its sessions still
// count as subscribed, so it is opened until it is in force.
func TestSubscriptionIsOpenedAgainUntilItIsInForce(t *testing.T) {
	for name, cause := range map[string]error{
		"503": &streamable.StatusError{Status: http.StatusServiceUnavailable},
		"502": &streamable.StatusError{Status: http.StatusBadGateway},
		"500": &streamable.StatusError{Status: http.StatusInternalServerError},
		"EOF": io.ErrUnexpectedEOF,
	} {
		for _, label := range []string{"resource", "lists"} {
			t.Run(label+" "+name, func(t *testing.T) {
				run(t, modern(elicits), func(r *rig) {
					p := r.serverAtURL()
					lists := announced(p)
					acknowledge(p, lists, `{"toolsListChanged":true}`)
					r.attach("one")
					listen := lists
					if label == "resource" {
						r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
						listen = p.Expect("subscriptions/listen")
						acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
					}
					r.WaitIdle()
					p.Reply(listen, `{"resultType":"complete","_meta":{}}`)
					again := nextListen(p)
					p.Send(failure(again, cause))
					r.WaitIdle()
					again = nextListen(p)
					if label == "resource" {
						p.Refuse(again, -32000, "not yet")
						nextListen(p)
					}
				})
			})
		}
	}
}

// A server that is restarted in place refuses new connections for a moment, while a call is in
// flight on the old one, and ends its subscriptions. They are opened when it is back, also those
// whose pause ends while it is away.
func TestServerThatWasAwayIsListenedTo(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.serverAtURL()
		lists := announced(p)
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		listen := p.Expect("subscriptions/listen")
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.call("one")
		p.Expect("tools/call")
		r.WaitIdle()
		p.Reply(listen, `{"resultType":"complete","_meta":{}}`)
		p.Send(failure(nextListen(p), errRefused))
		r.WaitIdle()
		if got := r.report(); got.State != client.Backoff {
			t.Fatalf("state %v", got.State)
		}
		p.Reply(lists, `{"resultType":"complete","_meta":{}}`)
		r.WaitIdle()
		r.send(client.Redial{})
		p.Reply(p.Expect("server/discover"), discovered)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready {
			t.Fatalf("state %v", got.State)
		}
		for range 2 { // the lists and the resource
			if m := nextListen(p); m.Method != "subscriptions/listen" {
				t.Errorf("%s, want subscriptions/listen", m.Method)
			}
		}
	})
}

// A server whose HTTP status says that it does not know the method is not asked again.
func TestServerThatDoesNotKnowListenIsAskedOnce(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.serverAtURL()
		lists := announced(p)
		p.Send(failure(lists, &streamable.StatusError{Status: http.StatusMethodNotAllowed}))
		r.WaitIdle()
		if r.report().Facts.Capabilities.Has("tools.listChanged") {
			t.Error("changes of tools are still offered")
		}
		p.ExpectNothing(2 * client.LastListen)
	})
}

// A subscription that the server does not confirm in time is opened again, if it was in force.
func TestSubscriptionThatIsNotConfirmedIsOpenedAgain(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.serverAtURL()
		acknowledge(p, announced(p), `{"toolsListChanged":true}`)
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		listen := p.Expect("subscriptions/listen")
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.WaitIdle()
		p.Reply(listen, `{"resultType":"complete","_meta":{}}`)
		p.Expect("subscriptions/listen")
		p.Expect("notifications/cancelled")
		p.Expect("subscriptions/listen")
	})
}

// Two sessions that subscribe to one resource at the same time are one subscription at the server.
func TestResourceIsSubscribedOnceAtALegacyServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"resources":{"subscribe":true}}`)
		r.attach("one")
		r.attach("two")
		one := r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		r.WaitIdle()
		two := r.forward("two", "resources/subscribe", `{"uri":"a:1"}`)
		p.Reply(nextListen(p), `{}`)
		r.WaitIdle()
		if r.outcome(one).Err != nil || r.outcome(two).Err != nil {
			t.Errorf("one: %v, two: %v", r.outcome(one).Err, r.outcome(two).Err)
		}
		p.ExpectNothing(time.Minute)
	})
}

// A server that was of the other era before may have been subscribed to more resources than streams
// may be open. Those beyond the bound are listened to when there is room.
func TestResourcesBeyondTheBoundAreListenedToLater(t *testing.T) {
	const beyond = 2
	uris := map[string]map[string]bool{}
	for n := range client.MaxListens - 1 + beyond {
		uris[fmt.Sprintf("a:%03d", n)] = map[string]bool{"one": true}
	}
	run(t, func(o *client.Options) {
		modern(elicits)(o)
		o.Restore = &client.AbandonedState{Sessions: map[string]otp.Ref{"one": o.Catalog}, URIs: uris}
	}, func(r *rig) {
		p := r.serverAtURL()
		for m, n := announced(p), 1; ; m, n = nextListen(p), n+1 {
			granted, _ := jsonedit.Get(m.Params, "notifications")
			acknowledge(p, m, string(granted))
			if n == client.MaxListens {
				break
			}
		}
		r.attach("one")
		p.ExpectNothing(time.Second)
		r.forward("one", "resources/unsubscribe", `{"uri":"a:050"}`)
		p.Expect("notifications/cancelled")
		m := p.Expect("subscriptions/listen")
		granted, _ := jsonedit.Get(m.Params, "notifications")
		acknowledge(p, m, string(granted))
		if !strings.Contains(string(m.Params), `"a:12`) {
			t.Errorf("%s, want one of those that waited", m.Params)
		}
		p.ExpectNothing(time.Minute)
	})
}

// A refusal that comes when the call is over already is no agreement: the server is asked for the
// other session that waits.
func TestRefusalThatComesLateIsNoSubscription(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"resources":{"subscribe":true}}`)
		r.attach("one")
		r.attach("two")
		one := r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		m := nextListen(p)
		two := r.forward("two", "resources/subscribe", `{"uri":"a:1"}`)
		one.Settle(request.Outcome{Err: protocol.Timeout(time.Second)})
		p.Refuse(m, -32000, "no")
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		if err := r.outcome(two).Err; err != nil {
			t.Errorf("two: %v", err)
		}
	})
}
