package server_test

import (
	"fmt"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/server"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

const elicits = `{"elicitation":{}}`

// asking is a client with a call in progress, during which the test lets the server ask.
func asking(r *rig) (*user, *testrig.Sink, *peer) {
	r.T.Helper()
	u := r.ready(elicits)
	out := u.call()
	return u, out, r.peer("files")
}

// S1-6, S1-13: a server's question reaches the client on the stream of its call, under an id of the
// session, and the answer is returned under the server's id. Answers of others, and a second
// answer, are dropped.
func TestQuestionIsAskedAndAnswered(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
		sent := out.Sent()
		if len(sent) != 1 || sent[0].Method != "elicitation/create" ||
			string(sent[0].Params) != `{"message":"name?"}` || sent[0].ID == jsonrpc.IntID(1) {
			t.Fatalf("asked %v", sent)
		}
		time.Sleep(4 * time.Minute) // the call's own deadline is extended meanwhile
		u.answer(jsonrpc.StringID("mcpd-nothing"), `{}`)
		u.answer(sent[0].ID, `{"action":"accept"}`)
		u.answer(sent[0].ID, `{"action":"decline"}`)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"accept"}` ||
			got[0].ID != jsonrpc.IntID(1) {
			t.Errorf("answered %v", got)
		}
		if out.Word() != "none" {
			t.Errorf("the call: %v", out.All())
		}
	})
}

// If a client does not answer in time, the server gets an error.
func TestQuestionExpires(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{}`)
		sent := out.Sent()
		time.Sleep(5 * time.Minute)
		if got := p.answers(); len(got) != 1 || got[0].Error == nil || got[0].Error.Code != -32009 {
			t.Errorf("answered %v", got)
		}
		u.answer(sent[0].ID, `{}`)
		if got := p.answers(); len(got) != 1 || out.Word() != "none" {
			t.Errorf("later: answered %v, the call %v; want the call to go on", got, out.All())
		}
	})
}

// A question that its server cancels, or whose call ends, is withdrawn from the client.
func TestQuestionIsWithdrawn(t *testing.T) {
	for name, end := range map[string]func(u *user, p *peer){
		"by the server": func(_ *user, p *peer) {
			p.Notify("notifications/cancelled", `{"requestId":1}`)
		},
		"with its call": func(u *user, _ *peer) { u.tell("notifications/cancelled", `{"requestId":2}`) },
		"server gone":   func(_ *user, p *peer) { p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, silent, func(r *rig) {
				u, out, p := asking(r)
				p.Ask(jsonrpc.IntID(1), "elicitation/create", `{}`)
				sent := out.Sent()
				if len(sent) != 1 {
					r.T.Fatalf("asked %v", sent)
				}
				end(u, p)
				got := u.heard("notifications/cancelled")
				if len(got) != 1 {
					r.T.Fatalf("heard %v", u.heard(""))
				}
				if id, _ := jsonedit.Get(got[0].Params, "requestId"); string(id) != sent[0].ID.Raw() {
					t.Errorf("heard of %s, want %s", id, sent[0].ID.Raw())
				}
			})
		})
	}
}

// A server that asks without waiting and answers its call gets the answer of the client later, as
// without a host in between.
func TestAnswerComesAfterTheCall(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{}`)
		p.finish()
		sent := out.Sent()
		if len(sent) != 1 || out.Word() != "result" {
			r.T.Fatalf("asked %v, the call %v", sent, out.All())
		}
		time.Sleep(time.Minute)
		if got := u.heard("notifications/cancelled"); len(got) != 0 {
			t.Errorf("the client heard %v", got)
		}
		u.answer(sent[0].ID, `{"action":"accept"}`)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"accept"}` {
			t.Errorf("answered %v", got)
		}
	})
}

// A question whose call has failed is withdrawn from the client, and the server is told.
func TestQuestionOfAFailedCallIsAnswered(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{}`)
		call := p.heard("tools/call")[0]
		p.send(transport.Inbound{
			RequestID: call.ID, Message: jsonrpc.Failure(call.ID, &jsonrpc.Error{Code: -5, Message: "no"}),
		})
		r.WaitIdle()
		if len(u.heard("notifications/cancelled")) != 1 || out.Word() != int64(-5) {
			t.Errorf("the client heard %v, the call %v", u.heard(""), out.All())
		}
		if got := p.answers(); len(got) != 1 || got[0].Error == nil {
			t.Errorf("answered %v", got)
		}
	})
}

// I2: servers choose progress tokens freely, and two may be equal. The client's progress reaches
// the server that asked.
func TestProgressOnAQuestionFindsItsServer(t *testing.T) {
	run(t, func(r *rig) { silent(r); r.script["search"]["tools/call"] = nil }, func(r *rig) {
		u := r.ready(elicits)
		first, second := u.call(), u.ask("tools/call", `{"name":"search__find"}`)
		files, search := r.peer("files"), r.peer("search")
		const params = `{"message":"?","_meta":{"progressToken":1}}`
		files.Ask(jsonrpc.IntID(1), "elicitation/create", params)
		search.Ask(jsonrpc.IntID(1), "elicitation/create", params)
		if len(first.Sent()) != 1 || len(second.Sent()) != 1 {
			r.T.Fatalf("asked %v and %v", first.Sent(), second.Sent())
		}
		token, _ := jsonedit.Get(second.Sent()[0].Params, "_meta", "progressToken")
		u.tell("notifications/progress", `{"progressToken":`+string(token)+`,"progress":5}`)
		u.tell("notifications/progress", `{"progressToken":1,"progress":6}`)
		u.tell("notifications/progress", `{"progress":7}`)
		if got := search.heard("notifications/progress"); len(got) != 1 ||
			string(got[0].Params) != `{"progressToken":1,"progress":5}` {
			t.Errorf("its server heard %v", got)
		}
		if got := files.heard("notifications/progress"); len(got) != 0 {
			t.Errorf("the other heard %v", got)
		}
	})
}

// F38: the open questions to one client are bounded, and a client is asked only for what it
// declared.
func TestQuestionsAreBounded(t *testing.T) {
	run(t, silent, func(r *rig) {
		_, out, p := asking(r)
		for n := range server.MaxOpenQuestions + 5 {
			p.Ask(jsonrpc.StringID(fmt.Sprint(n)), "elicitation/create", `{}`)
		}
		p.Ask(jsonrpc.StringID("s"), "sampling/createMessage", `{}`)
		if got := len(out.Sent()); got > server.MaxOpenQuestions {
			t.Errorf("asked %d", got)
		}
		refused := 0
		for _, a := range p.answers() {
			if a.Error != nil {
				refused++
			}
		}
		if refused != 6 {
			t.Errorf("%d refused, want those beyond the bound and the one it did not declare", refused)
		}
	})
}

// S1-5, S2-24: a client's change of roots is passed on to every server that it uses.
func TestRootsChangeIsPassedOn(t *testing.T) {
	run(t, nil, func(r *rig) {
		u, without := r.ready(`{"roots":{"listChanged":true}}`), r.ready(`{}`)
		u.call()
		p := r.peer("files")
		u.tell("notifications/roots/list_changed", "")
		if got := p.heard("notifications/roots/list_changed"); len(got) != 1 {
			t.Errorf("heard %v", got)
		}
		without.call()
		without.tell("notifications/roots/list_changed", "")
		if got := p.heard("notifications/roots/list_changed"); len(got) != 1 {
			t.Errorf("from a client that has none: heard %v", got)
		}
	})
}
