package client_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// A subscription was in force, its stream has ended, and opening it again fails. Its sessions still
// count as subscribed, so it is opened until it is in force.
func TestSubscriptionIsOpenedAgainUntilItIsInForce(t *testing.T) {
	for name, why := range map[string]error{
		"503": &streamable.StatusError{Status: http.StatusServiceUnavailable},
		"502": &streamable.StatusError{Status: http.StatusBadGateway},
		"500": &streamable.StatusError{Status: http.StatusInternalServerError},
		"EOF": io.ErrUnexpectedEOF,
	} {
		for _, what := range []string{"resource", "lists"} {
			t.Run(what+" "+name, func(t *testing.T) {
				run(t, modern(elicits), func(r *rig) {
					p := r.remote()
					lists := announced(p)
					acknowledge(p, lists, `{"toolsListChanged":true}`)
					r.attach("one")
					listen := lists
					if what == "resource" {
						r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
						listen = p.Expect("subscriptions/listen")
						acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
					}
					r.Rest()
					p.Reply(listen, `{"resultType":"complete","_meta":{}}`)
					again := nextListen(p)
					p.Send(failure(again, why))
					r.Rest()
					again = nextListen(p)
					if what == "resource" {
						p.Refuse(again, -32000, "not yet")
						nextListen(p)
					}
				})
			})
		}
	}
}

func nextListen(p *mcptest.Peer) jsonrpc.Message {
	for {
		m := p.Next()
		switch m.Method {
		case "tools/list":
			p.Reply(m, `{"resultType":"complete","tools":[{"name":"a"}]}`)
		case "resources/list":
			p.Reply(m, `{"resultType":"complete","resources":[]}`)
		case "resources/templates/list":
			p.Reply(m, `{"resultType":"complete","resourceTemplates":[]}`)
		default:
			return m
		}
	}
}

// A server that is restarted in place refuses new connections for a moment, while a call is in
// flight on the old one, and ends its subscriptions. They are opened when it is back, also those
// whose pause ends while it is away.
func TestServerThatWasAwayIsListenedTo(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.remote()
		lists := announced(p)
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		listen := p.Expect("subscriptions/listen")
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.call("one")
		p.Expect("tools/call")
		r.Rest()
		p.Reply(listen, `{"resultType":"complete","_meta":{}}`)
		p.Send(failure(nextListen(p), errRefused))
		r.Rest()
		if got := r.report(); got.State != client.Backoff {
			t.Fatalf("state %v", got.State)
		}
		p.Reply(lists, `{"resultType":"complete","_meta":{}}`)
		r.Rest()
		r.send(client.Redial{})
		p.Reply(p.Expect("server/discover"), discovered)
		r.Rest()
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

// A subscription that the server does not confirm in time is opened again, if it was in force.
func TestSubscriptionThatIsNotConfirmedIsOpenedAgain(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.remote()
		acknowledge(p, announced(p), `{"toolsListChanged":true}`)
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		listen := p.Expect("subscriptions/listen")
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.Rest()
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
		r.Rest()
		two := r.forward("two", "resources/subscribe", `{"uri":"a:1"}`)
		p.Reply(nextListen(p), `{}`)
		r.Rest()
		if r.outcome(one).Err != nil || r.outcome(two).Err != nil {
			t.Errorf("one: %v, two: %v", r.outcome(one).Err, r.outcome(two).Err)
		}
		p.ExpectNothing(time.Minute)
	})
}
