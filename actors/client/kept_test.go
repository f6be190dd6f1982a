package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// keeping makes the connection count for a tenant that may keep at most most bytes.
func keeping(declared string, most int64) (*quota.Account, setup) {
	l := quota.NewLedger(nil)
	l.Bound(quota.Bounds{Tenants: 1, Total: most})
	account := l.Account("acme")
	return account, func(o *client.Options) {
		declares(declared)(o)
		o.Kept = account
	}
}

// Questions that wait for the first session count for the tenant, as long as they wait.
func TestEarlyQuestionsAreCounted(t *testing.T) {
	account, change := keeping(`{"roots":{},"sampling":{}}`, 10_000)
	bytes := func() int64 { return account.Holding().Kinds[quota.Questions] }
	params := `{"x":"` + strings.Repeat("x", 4000) + `"}`
	one := int64(len(params) + len("sampling/createMessage") + len("1"))
	waits := func(r *rig) {
		r.T.Helper()
		p := r.ready(`{"tools":{}}`)
		p.Ask(jsonrpc.ID{}, jsonrpc.IntID(1), "sampling/createMessage", params)
		p.Ask(jsonrpc.ID{}, jsonrpc.IntID(2), "sampling/createMessage", params)
		r.WaitIdle()
		if bytes() != 2*one {
			r.T.Errorf("%d bytes count, want %d", bytes(), 2*one)
		}
		p.Ask(jsonrpc.ID{}, jsonrpc.IntID(3), "sampling/createMessage", params)
		if a := p.ExpectAnswer(jsonrpc.IntID(3)); a.Error == nil {
			r.T.Error("a question waits for which the tenant has no room")
		}
		p.Notify(jsonrpc.ID{}, "notifications/cancelled", `{"requestId":2}`)
		r.WaitIdle()
		if bytes() != one {
			r.T.Errorf("%d bytes count after one was taken back, want %d", bytes(), one)
		}
	}
	run(t, change, waits)
	if bytes() != 0 {
		t.Errorf("%d bytes count after the end of the connection", bytes())
	}
	for name, end := range map[string]func(r *rig){
		"nobody came":    func(*rig) { time.Sleep(client.QuestionHold) },
		"a session came": func(r *rig) { r.attach("one") },
		"the connection crashed": func(r *rig) {
			r.Break("conn", "client.Describe")
			r.send(client.Describe{})
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, change, func(r *rig) {
				waits(r)
				end(r)
				r.WaitIdle()
				if bytes() != 0 {
					t.Errorf("%d bytes count", bytes())
				}
			})
			if account.Total() != 0 {
				t.Errorf("%d bytes count at the end", account.Total())
			}
		})
	}
}

// Subscriptions and filters of extensions that a connection remembers count for the tenant, also
// when the connection crashes.
func TestRememberedSubscriptionsAreCounted(t *testing.T) {
	account, change := keeping(`{}`, 10_000)
	bytes := func() int64 { return account.Holding().Kinds[quota.Subscriptions] }
	uris := []string{"test://x", "test://" + strings.Repeat("y", 100)}
	all := int64(len(uris[0]) + len(uris[1]))
	run(t, change, func(r *rig) {
		p := r.ready(`{"tools":{},"resources":{"subscribe":true}}`)
		for _, list := range []string{"resources", "resourceTemplates"} {
			m := p.Expect(map[string]string{"resources": "resources/list",
				"resourceTemplates": "resources/templates/list"}[list])
			p.Reply(m, `{"`+list+`":[]}`)
		}
		r.attach("one")
		r.attach("two")
		r.setIntent(client.SubscriptionIntent{Session: "one", URIs: uris})
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.setIntent(client.SubscriptionIntent{Session: "two", URIs: uris[:1]})
		r.WaitIdle()
		if bytes() != all {
			t.Errorf("%d bytes count, want %d", bytes(), all)
		}
		r.Break("conn", "client.Describe")
		r.send(client.Describe{})
		p = r.server()
		p.Handshake(`{"tools":{},"resources":{"subscribe":true}}`)
		r.WaitIdle()
		if bytes() != all {
			t.Errorf("%d bytes count after a crash, want %d", bytes(), all)
		}
		r.send(client.Detach{Ref: r.Ref("one")})
		r.WaitIdle()
		if want := int64(len(uris[0])); bytes() != want {
			t.Errorf("%d bytes count for the other session, want %d", bytes(), want)
		}
	})
	if account.Total() != 0 {
		t.Errorf("%d bytes count at the end", account.Total())
	}
}

// Large answers of clients count until the server has them: in the mailbox of the connection, and
// with their call while they wait for others. They no longer count when the connection crashes on
// them, or they come too late.
func TestAnswersOfClientsCount(t *testing.T) {
	large := jsontext.Value(`{"action":"accept","content":{"x":"` +
		strings.Repeat("x", transport.Large) + `"}}`)
	for name, ends := range map[string]func(r *rig, p *mcptest.Peer, give func(jsonrpc.ID),
		counts func() bool){
		"the server has it": func(_ *rig, p *mcptest.Peer, give func(jsonrpc.ID), counts func() bool) {
			if give(question); counts() {
				t.Error("it counts although the server has it")
			}
			p.ExpectAnswer(question)
		},
		"it waits": func(r *rig, p *mcptest.Peer, give func(jsonrpc.ID), counts func() bool) {
			r.forward("two", "tools/call", `{"name":"echo"}`)
			m := p.Expect("tools/call")
			if give(question); !counts() {
				t.Error("it does not count while it waits")
			}
			p.Reply(m, `{"content":[]}`)
			p.ExpectAnswer(question)
		},
		"it is late": func(_ *rig, _ *mcptest.Peer, give func(jsonrpc.ID), _ func() bool) {
			give(jsonrpc.StringID("other"))
		},
		"it crashes the connection": func(r *rig, _ *mcptest.Peer, give func(jsonrpc.ID), _ func() bool) {
			r.Break("conn", "*client.Answer")
			give(question)
		},
	} {
		t.Run(name, func(t *testing.T) {
			account, change := keeping(elicits, 10<<20)
			run(t, change, func(r *rig) {
				p := r.program(r.dials)
				x := r.exchange("one", "tools/call", `{"name":"a"}`)
				x.Count(account.Count(quota.Requests, 0))
				r.send(&request.Forward{Exchange: x})
				p.Expect("tools/call")
				p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
				r.WaitIdle()
				counts := func() bool { r.WaitIdle(); return account.Total() >= int64(len(large)) }
				ends(r, p, func(id jsonrpc.ID) {
					a := &client.Answer{Question: id, Result: large}
					if a.Count(account); !counts() {
						t.Error("it does not count on the way")
					}
					r.send(a)
				}, counts)
				r.WaitIdle()
				if x.Settle(request.Outcome{Ending: request.Cancelled}); account.Total() != 0 {
					t.Errorf("%d bytes count in the end", account.Total())
				}
			})
		})
	}
}

// Every answer that waits for the same call counts.
func TestAnswersThatWaitCountTogether(t *testing.T) {
	large := jsontext.Value(`{"action":"accept","content":{"x":"` +
		strings.Repeat("x", transport.Large) + `"}}`)
	account, change := keeping(elicits, 10<<20)
	run(t, change, func(r *rig) {
		p := r.program(r.dials)
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Count(account.Count(quota.Requests, 0))
		r.send(&request.Forward{Exchange: x})
		p.Expect("tools/call")
		questions := []jsonrpc.ID{
			jsonrpc.StringID("first"), jsonrpc.StringID("second"), jsonrpc.StringID("third"),
		}
		for _, id := range questions {
			p.Ask(jsonrpc.ID{}, id, "elicitation/create", `{}`)
		}
		r.forward("two", "tools/call", `{"name":"echo"}`)
		m := p.Expect("tools/call")
		for n, id := range questions {
			a := &client.Answer{Question: id, Result: large}
			a.Count(account)
			r.send(a)
			r.WaitIdle()
			if got, want := account.Total(), int64((n+1)*len(large)); got < want {
				t.Errorf("%d bytes of %d answers count, want %d", got, n+1, want)
			}
		}
		p.Reply(m, `{"content":[]}`)
		for _, id := range questions {
			p.ExpectAnswer(id)
		}
		r.WaitIdle()
		if x.Settle(request.Outcome{Ending: request.Cancelled}); account.Total() != 0 {
			t.Errorf("%d bytes count in the end", account.Total())
		}
	})
}

// A notification that a connection never handles, because the connection ends, no longer counts.
func TestNotificationsThatNobodyHandlesCountNoMore(t *testing.T) {
	account, change := keeping(elicits, 10<<20)
	run(t, change, func(r *rig) {
		r.program(r.dials)
		letGo := r.Stalls.Arm("conn", "client.Stop")
		r.send(client.Stop{Why: client.Removed(nil)})
		r.send(&client.ClientNotification{
			Method: "notifications/x", Kept: account.Count(quota.Requests, 1000),
		})
		letGo()
		r.WaitIdle()
		if n := account.Holding().Kinds[quota.Requests]; n != 0 {
			t.Errorf("%d bytes count in the end", n)
		}
	})
}
