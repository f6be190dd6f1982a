package client_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/catalog"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

const announces = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`

// announcing returns a modern server that announces changes, and its subscription to lists.
func (r *rig) announcing() (p *mcptest.Peer, lists jsonrpc.Message) {
	r.T.Helper()
	p = r.server()
	return p, announced(p)
}

// announced returns the subscription to the lists of such a server, which is asked for its lists
// first.
func announced(p *mcptest.Peer) jsonrpc.Message {
	p.Reply(p.Expect("server/discover"), strings.Replace(discovered, `{"tools":{}}`, announces, 1))
	return nextListen(p)
}

// nextListen answers requests for lists, and returns the next other message.
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

func acknowledge(p *mcptest.Peer, listen jsonrpc.Message, filter string) {
	p.Notify(jsonrpc.ID{}, "notifications/subscriptions/acknowledged",
		`{"notifications":`+filter+`,"_meta":{"io.modelcontextprotocol/subscriptionId":`+
			listen.ID.Raw()+`}}`)
}

// Protocol-matrix 10.8: the host listens for changes of a modern server's lists, once, and fetches
// the lists that have changed.
func TestListsOfAModernServerAreListenedFor(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, lists := r.announcing()
		if f, _ := jsonedit.Get(lists.Params, "notifications"); string(f) != `{"toolsListChanged":true}` {
			t.Errorf("listens for %s", lists.Params)
		}
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		p.Notify(lists.ID, "notifications/tools/list_changed",
			`{"_meta":{"io.modelcontextprotocol/subscriptionId":`+lists.ID.Raw()+`}}`)
		p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"},{"name":"b"}]}`)
		r.WaitIdle()
		if got := len(r.report().Lists[catalog.Tools]); got != 2 {
			t.Errorf("%d tools", got)
		}
		p.ExpectNothing(time.Minute)
	})
}

// A client is not offered announcements that the server did not agree to send: none would arrive,
// as with a legacy server without a stream.
func TestListsThatAreNotAnnouncedAreNotOffered(t *testing.T) {
	tests := []struct {
		name   string
		answer func(p *mcptest.Peer, lists jsonrpc.Message)
		want   bool
	}{
		{"agrees", func(p *mcptest.Peer, lists jsonrpc.Message) {
			acknowledge(p, lists, `{"toolsListChanged":true}`)
		}, true},
		{"agrees to nothing", func(p *mcptest.Peer, lists jsonrpc.Message) {
			acknowledge(p, lists, `{}`)
		}, false},
		{"ends it at once", func(p *mcptest.Peer, lists jsonrpc.Message) {
			p.Reply(lists, `{"resultType":"complete","_meta":{}}`)
		}, false},
		{"does not know the method", func(p *mcptest.Peer, lists jsonrpc.Message) {
			p.Refuse(lists, jsonrpc.CodeMethodNotFound, "Method not found")
		}, false},
		{"does not confirm it", func(p *mcptest.Peer, _ jsonrpc.Message) {
			p.Expect("notifications/cancelled") // when the time is over
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p, lists := r.announcing()
				test.answer(p, lists)
				r.WaitIdle()
				got := r.report().Facts.Capabilities
				if got.Has("tools.listChanged") != test.want {
					t.Errorf("offered %s", got.Raw())
				}
				if !got.Has("tools") || !got.Has("resources.subscribe") {
					t.Errorf("took too much away: %s", got.Raw())
				}
			})
		})
	}
}

// A subscription that its server ends is opened again. Lists count as changed, because changes in
// between were not announced.
func TestListenIsOpenedAgain(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, lists := r.announcing()
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		p.Reply(lists, `{"resultType":"complete","_meta":{}}`)
		again := map[string]bool{}
		for range 2 {
			m := p.Next()
			again[m.Method] = true
			if m.Method == "tools/list" {
				p.Reply(m, `{"resultType":"complete","tools":[]}`)
			} else {
				acknowledge(p, m, `{"toolsListChanged":true}`)
			}
		}
		if !again["subscriptions/listen"] || !again["tools/list"] {
			t.Errorf("asked for %v", again)
		}
		p.ExpectNothing(time.Minute)
	})
}

// The pause before a subscription is opened again belongs to one server. The next server is
// listened to once, when it is ready.
func TestNextServerIsListenedToOnce(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.serverAtURL()
		lists := announced(p)
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		p.Reply(lists, `{"resultType":"complete","_meta":{}}`)
		for range 2 {
			if m := p.Next(); m.Method == "tools/list" {
				p.Reply(m, `{"resultType":"complete","tools":[]}`)
			} else {
				acknowledge(p, m, `{"toolsListChanged":true}`)
				lists = m
			}
		}
		p.Reply(lists, `{"resultType":"complete","_meta":{}}`) // the second time there is a pause
		r.WaitIdle()
		forgetSession(p)
		p = r.serverAtURL()
		acknowledge(p, announced(p), `{"toolsListChanged":true}`)
		p.ExpectNothing(time.Minute)
	})
}

// A resource that is given up and wanted again during that pause is listened to once.
func TestResourceIsListenedToOnceAfterAPause(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.serverAtURL()
		acknowledge(p, announced(p), `{"toolsListChanged":true}`)
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		for range 2 {
			listen := p.Expect("subscriptions/listen")
			acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
			r.WaitIdle()
			p.Reply(listen, `{"resultType":"complete","_meta":{}}`)
		}
		r.WaitIdle()
		r.forward("one", "resources/unsubscribe", `{"uri":"a:1"}`)
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		acknowledge(p, p.Expect("subscriptions/listen"), `{"resourceSubscriptions":["a:1"]}`)
		p.ExpectNothing(time.Minute)
	})
}

// Protocol-matrix 10.9: subscriptions of legacy clients become subscriptions of ours, one to a
// resource however many want it. Announcements are passed on without the id. The subscription ends
// with its last client.
func TestResourceOfAModernServer(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, lists := r.announcing()
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		r.attach("one")
		r.attach("two")
		first := r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		listen := p.Expect("subscriptions/listen")
		if f, _ := jsonedit.Get(listen.Params,
			"notifications"); string(f) != `{"resourceSubscriptions":["a:1"]}` {
			t.Errorf("listens for %s", listen.Params)
		}
		r.WaitIdle()
		if len(r.outcomes()) != 0 {
			t.Errorf("agreed before the server has: %v", r.outcomes())
		}
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.WaitIdle()
		second := r.forward("two", "resources/subscribe", `{"uri":"a:1"}`)
		r.WaitIdle()
		if r.outcome(first).Err != nil || r.outcome(second).Err != nil {
			t.Errorf("outcomes %v %v", r.outcome(first).Err, r.outcome(second).Err)
		}
		p.Notify(listen.ID, "notifications/resources/updated",
			`{"uri":"a:1","_meta":{"io.modelcontextprotocol/subscriptionId":`+listen.ID.Raw()+`}}`)
		r.WaitIdle()
		told := testrig.Of[*notification.Dispatch](&r.dispatcher.Log)
		if len(told) != 1 || told[0].URI != "a:1" ||
			strings.Contains(string(told[0].Params), "subscriptionId") {
			t.Errorf("told %+v", told)
		}
		r.forward("one", "resources/unsubscribe", `{"uri":"a:1"}`)
		p.ExpectNothing(time.Second)
		r.forward("two", "resources/unsubscribe", `{"uri":"a:1"}`)
		m := p.Expect("notifications/cancelled")
		if id, _ := jsonedit.Get(m.Params, "requestId"); string(id) != listen.ID.Raw() {
			t.Errorf("cancelled %s", m.Params)
		}
	})
}

// When a subscription to a resource ends, a server on a pipe may forget the subscription to its
// lists. It is done with that when it has answered. Then its lists are listened to anew, and the
// same resource not before.
func TestEndOfASubscriptionOnAPipe(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, lists := r.announcing()
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		listen := p.Expect("subscriptions/listen")
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.WaitIdle()
		ended := func(listen jsonrpc.Message) {
			t.Helper()
			if id, _ := jsonedit.Get(p.Expect("notifications/cancelled").Params,
				"requestId"); string(id) != listen.ID.Raw() {
				t.Errorf("ended %s, want %s", id, listen.ID.Raw())
			}
		}
		r.forward("one", "resources/unsubscribe", `{"uri":"a:1"}`)
		ended(listen)
		again := r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		p.ExpectNothing(client.LeaveTime / 2)
		p.Reply(listen, `{"resultType":"complete"}`)
		ended(lists)
		listen = p.Expect("subscriptions/listen")
		acknowledge(p, listen, `{"resourceSubscriptions":["a:1"]}`)
		r.WaitIdle()
		if got := r.outcome(again); got.Err != nil {
			t.Error(got.Err)
		}
		p.ExpectNothing(client.LeaveTime / 2)
		time.Sleep(client.LeaveTime / 2) // without an answer, the server counts as done
		lists = p.Expect("subscriptions/listen")
		if f, _ := jsonedit.Get(lists.Params, "notifications"); string(f) != `{"toolsListChanged":true}` {
			t.Errorf("listens for %s", f)
		}
		p.ExpectNothing(client.LeaveTime / 2)
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"},{"name":"b"}]}`)
		p.ExpectNothing(time.Minute)
	})
}

// If the server leaves a resource out of its agreement, or says nothing about it, the client that
// asked gets an error.
func TestResourceThatIsNotGranted(t *testing.T) {
	for name, answer := range map[string]func(p *mcptest.Peer, m jsonrpc.Message){
		"left out": func(p *mcptest.Peer, m jsonrpc.Message) { acknowledge(p, m, `{}`) },
		"refused":  func(p *mcptest.Peer, m jsonrpc.Message) { p.Refuse(m, -32602, "no") },
		"silence":  func(*mcptest.Peer, jsonrpc.Message) { time.Sleep(5 * time.Second) },
		"ended": func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Notify(jsonrpc.ID{}, "notifications/cancelled", `{"requestId":`+m.ID.Raw()+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p, lists := r.announcing()
				acknowledge(p, lists, `{"toolsListChanged":true}`)
				x := r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
				answer(p, p.Expect("subscriptions/listen"))
				r.WaitIdle()
				got := r.outcome(x)
				if got.Err == nil {
					t.Fatal("agreed")
				}
				if told := protocol.Translate(got.Err, x.Version); name == "left out" || name == "ended" {
					if uri, _ := jsonedit.GetString(told.Data, "uri"); told.Code != -32602 || uri != "a:1" {
						t.Errorf("got %v %s", told, told.Data)
					}
				}
				// The failed subscription is not remembered.
				r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
				for m := p.Next(); m.Method != "subscriptions/listen"; m = p.Next() {
				}
			})
		})
	}
}

// Subscriptions are restored with the connection.
func TestListensAreRestored(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p, lists := r.announcing()
		acknowledge(p, lists, `{"toolsListChanged":true}`)
		r.attach("one")
		x := r.forward("one", "resources/subscribe", `{"uri":"a:1"}`)
		acknowledge(p, p.Expect("subscriptions/listen"), `{"resourceSubscriptions":["a:1"]}`)
		r.WaitIdle()
		if r.outcome(x).Err != nil {
			t.Fatal(r.outcome(x).Err)
		}
		p.Close(nil)
		q := r.server()
		q.Reply(q.Expect("server/discover"), strings.Replace(discovered, `{"tools":{}}`, announces, 1))
		seen := map[string]bool{}
		for range 5 {
			m := q.Next()
			switch m.Method {
			case "subscriptions/listen":
				f, _ := jsonedit.Get(m.Params, "notifications")
				seen[string(f)] = true
				acknowledge(q, m, string(f))
			case "tools/list":
				q.Reply(m, `{"resultType":"complete","tools":[{"name":"a"}]}`)
			default:
				q.Reply(m, `{"resultType":"complete"}`)
			}
		}
		if !seen[`{"toolsListChanged":true}`] || !seen[`{"resourceSubscriptions":["a:1"]}`] {
			t.Errorf("listens for %v", seen)
		}
		r.WaitIdle()
		if got := r.updates(); !slices.Equal(got, []string{"a:1"}) {
			t.Errorf("what may have changed meanwhile: told of %v", got)
		}
	})
}

// The log level is sent with each request, and in no request of its own.
func TestLogLevelOfARequestThatStandsAlone(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.modernly(`{"tools":{},"logging":{}}`)
		r.attach("one")
		granted := r.setIntent(client.SubscriptionIntent{Session: "one", Level: "warning"})
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
		r.call("one")
		m := p.Expect("tools/call")
		if level, _ := jsonedit.GetString(m.Params, "_meta", protocol.MetaLogLevel); level != "warning" {
			t.Errorf("called with %s", m.Params)
		}
	})
}
