package client_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
)

const changes = `{"roots":{"listChanged":true}}`

// uses makes a session of a principal use the connection.
func (r *rig) uses(session, principal string) {
	r.T.Helper()
	_, err := testrig.Ask[client.AttachRequest, struct{}](r.Rig, "conn", client.AttachRequest{
		Session: session, Ref: r.Ref(session), User: client.User{Principal: principal},
	})
	if err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
}

// A question that a server asks as soon as it was started goes to the first session that uses the
// connection, and to no other.
func TestQuestionBeforeAnySessionWaitsForTheFirst(t *testing.T) {
	run(t, declares(changes), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		time.Sleep(client.QuestionHold / 2)
		r.attach("one")
		r.attach("two")
		got := asked(&r.one)
		if len(got) != 1 || got[0].Method != "roots/list" || got[0].ID != question ||
			got[0].Exchange != nil || len(asked(&r.two)) != 0 {
			t.Fatalf("the first was asked %+v, the second %+v", got, asked(&r.two))
		}
		time.Sleep(client.QuestionHold)
		p.ExpectNothing(time.Second)
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"roots":[]}`)})
		if a := p.ExpectAnswer(question); string(a.Result) != `{"roots":[]}` {
			t.Errorf("answered %s, %v", a.Result, a.Error)
		}
		p.ExpectNothing(time.Minute)
	})
}

// Without a session the question is refused. A server that has asked for roots is told when a
// session is there, and may ask again. It is told only if the client of the session declares that
// it announces changes of its roots.
func TestQuestionThatNoSessionComesForIsRefused(t *testing.T) {
	for _, declared := range []string{changes, `{"roots":{}}`} {
		run(t, declares(declared), func(r *rig) {
			p := r.ready(`{"tools":{}}`)
			start := time.Now()
			p.Ask(jsonrpc.ID{}, question, "roots/list", "")
			if a := p.ExpectAnswer(question); a.Error == nil || a.Error.Code != -32602 ||
				time.Since(start) != client.QuestionHold {
				t.Errorf("after %v: %s, %v", time.Since(start), a.Result, a.Error)
			}
			r.attach("one")
			if declared == changes {
				p.Expect("notifications/roots/list_changed")
				ping := p.Expect("ping")
				p.Ask(jsonrpc.ID{}, question, "roots/list", "")
				p.Reply(ping, `{}`)
				r.WaitIdle()
				if got := asked(&r.one); len(got) != 1 {
					t.Errorf("asked %+v", got)
				}
			}
			r.attach("two")
			p.ExpectNothing(time.Minute)
		})
	}
}

// Questions that wait are bounded. They are forgotten when their server takes them back or is
// started anew.
func TestQuestionsBeforeAnySessionAreBounded(t *testing.T) {
	run(t, declares(`{"roots":{},"sampling":{}}`), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		p.Ask(jsonrpc.ID{}, question, "sampling/createMessage",
			`{"messages":"`+strings.Repeat("x", 5000)+`"}`)
		if a := p.ExpectAnswer(question); a.Error == nil {
			t.Errorf("a large one: %s", a.Result)
		}
		for n := range client.MaxEarly {
			p.Ask(jsonrpc.ID{}, jsonrpc.IntID(uint64(n)), "roots/list", "")
		}
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		if a := p.ExpectAnswer(question); a.Error == nil {
			t.Errorf("one above the bound: %s", a.Result)
		}
		for n := range client.MaxEarly - 1 {
			p.Notify(jsonrpc.ID{}, "notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, n))
		}
		r.WaitIdle()
		r.attach("one")
		if got := asked(&r.one); len(got) != 1 || got[0].ID != jsonrpc.IntID(client.MaxEarly-1) {
			t.Errorf("asked %+v", got)
		}
	})
	run(t, declares(`{"roots":{}}`), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		p.Close(nil)
		next := r.ready(`{"tools":{}}`)
		r.attach("one")
		if got := asked(&r.one); len(got) != 0 {
			t.Errorf("asked for a server that is gone: %+v", got)
		}
		next.ExpectNothing(time.Minute)
	})
}

// A server that worked for one principal may ask because of that. Its question does not go to
// another principal, even if the only session is that of the other.
func TestQuestionOutsideOfACallIsNoOtherPrincipals(t *testing.T) {
	run(t, declares(`{"roots":{}}`), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.uses("one", "alice")
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		r.WaitIdle()
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"roots":[]}`)})
		p.ExpectAnswer(question)
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Principal = "alice"
		r.send(&request.Forward{Exchange: x})
		p.Reply(p.Expect("tools/call"), `{}`)
		r.WaitIdle()
		r.send(client.Detach{Ref: r.Ref("one")})
		r.uses("two", "bob")
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		if a := p.ExpectAnswer(question); a.Error == nil || len(asked(&r.two)) != 0 {
			t.Errorf("another principal was asked: %s, %+v", a.Result, asked(&r.two))
		}
	})
}

// presence records when the client of a session left, nil while the client is there.
type presence struct{ at atomic.Pointer[time.Time] }

func (p *presence) Away(now time.Time) time.Duration {
	at := p.at.Load()
	if at == nil {
		return 0
	}
	return max(now.Sub(*at), 1)
}

func (p *presence) leave(at time.Time) { p.at.Store(&at) }

func (p *presence) Unreached(now time.Time) time.Duration { return p.Away(now) }

// is makes a session with a client use the connection.
func (r *rig) is(session string, p *presence) {
	r.T.Helper()
	_, err := testrig.Ask[client.AttachRequest, struct{}](r.Rig, "conn", client.AttachRequest{
		Session: session, Ref: r.Ref(session), User: client.User{Presence: p},
	})
	if err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
}

// A client that has left without ending its session cannot be asked. The server is told that the
// roots have changed, and its question goes to the client that is there. A question that comes when
// the first client has only just left waits until that is certain.
func TestSessionWhoseClientIsGoneIsNotAsked(t *testing.T) {
	run(t, declares(changes), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		var first, second presence
		r.is("one", &first)
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		r.WaitIdle()
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"roots":[]}`)})
		p.ExpectAnswer(question)
		first.leave(time.Now())
		r.is("two", &second)
		other := jsonrpc.StringID("other")
		p.Ask(jsonrpc.ID{}, other, "roots/list", "")
		time.Sleep(client.GoneAfter / 2)
		r.WaitIdle()
		if len(asked(&r.one)) != 1 || len(asked(&r.two)) != 0 {
			t.Fatalf("asked %v and %v", asked(&r.one), asked(&r.two))
		}
		time.Sleep(client.QuestionHold)
		r.WaitIdle()
		if len(asked(&r.one)) != 1 || len(asked(&r.two)) != 1 {
			t.Fatalf("then asked %v and %v", asked(&r.one), asked(&r.two))
		}
		r.send(&client.Answer{Question: other, Result: jsontext.Value(`{"roots":[]}`)})
		p.ExpectAnswer(other)
		p.ExpectNothing(time.Minute)

		second.leave(time.Now().Add(-client.GoneAfter))
		first.at.Store(nil)
		r.is("one", &first)
		p.Expect("notifications/roots/list_changed")
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		r.WaitIdle()
		if len(asked(&r.one)) != 2 {
			t.Errorf("the first is back, and asked %v", asked(&r.one))
		}
	})
}

// When the session ends whose roots a server has, and one session is left, the server is told that
// the roots have changed.
func TestServerHearsOfOtherRootsWhenASessionEnds(t *testing.T) {
	run(t, declares(changes), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.attach("one")
		p.Ask(jsonrpc.ID{}, question, "roots/list", "")
		r.WaitIdle()
		r.send(&client.Answer{Question: question, Result: jsontext.Value(`{"roots":[]}`)})
		p.ExpectAnswer(question)
		r.attach("two")
		p.ExpectNothing(time.Second)
		r.send(client.Detach{Ref: r.Ref("one")})
		p.Expect("notifications/roots/list_changed")
	})
}
