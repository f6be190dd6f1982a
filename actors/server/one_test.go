package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

const interfaces = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`

// one makes "files" a program with a single process, shared by the whole tenant.
func one(r *rig) {
	silent(r)
	r.tenant.Servers[0].Instances = 1
}

// told is the set of client capabilities that a server was told of in its handshake.
func (p *peer) told() string {
	init := p.heard("initialize")
	if len(init) != 1 {
		return "greeted otherwise"
	}
	caps, _ := jsonedit.Get(init[0].Params, "capabilities")
	return string(caps)
}

// With max_instances: 1 there is one process for all callers: principals, eras, declared
// capabilities and the extension for user interfaces make no other.
func TestOneInstanceIsOneProcess(t *testing.T) {
	run(t, one, func(r *rig) {
		alice, bob, ui := r.as("alice", `{}`), r.as("bob", elicits), r.as("alice", interfaces)
		modern := r.caller(`{"sampling":{}}`)
		modern.principal = "bob"
		outs := []*testrig.Sink{alice.call(), bob.call(), ui.call(), modern.call()}
		p := r.peer("files")
		r.WaitIdle()
		if n := len(r.peers["files"]); n != 0 {
			t.Errorf("%d processes more", n)
		}
		if got := p.told(); got != `{}` { // the capabilities of those that waited when it started
			t.Errorf("it was told %s", got)
		}
		// it can ask nothing, so no call waits for its turn
		if got := len(p.heard("tools/call")); got != 4 {
			t.Errorf("%d calls in flight", got)
		}
		for _, m := range p.heard("tools/call") {
			p.send(answerTo(m.ID))
		}
		r.WaitIdle()
		for i, out := range outs {
			if out.Word() != "result" {
				t.Errorf("call %d: %v", i, out.All())
			}
		}

		// The next process is told the union of its users' capabilities.
		p.Close()
		time.Sleep(time.Minute)
		p = r.latest("files")
		for _, want := range []string{"elicitation", "sampling", "extensions"} {
			if !strings.Contains(p.told(), `"`+want+`"`) {
				t.Errorf("the next was told %s, without %s", p.told(), want)
			}
		}
	})
}

// A question is sent to the client of its call only if that client has declared the capability,
// whatever the server was told. Otherwise it is refused with that reason, and the client is not
// asked.
func TestQuestionBeyondWhatTheCallerDeclared(t *testing.T) {
	run(t, one, func(r *rig) {
		bob, alice, modern := r.as("bob", elicits), r.as("alice", `{}`), r.caller(`{}`)
		outs := []*testrig.Sink{bob.call(), alice.call(), modern.call()}
		p := r.peer("files")
		calls := p.heard("tools/call")
		for i, call := range calls {
			ask := jsonrpc.Request(jsonrpc.IntID(uint64(i)), "elicitation/create",
				jsontext.Value(`{"message":"name?"}`))
			p.send(transport.Inbound{Message: ask, RequestID: call.ID})
		}
		time.Sleep(time.Second)
		if got := outs[0].Sent(); len(got) != 1 || got[0].Method != "elicitation/create" {
			t.Fatalf("bob is asked %v", got)
		}
		bob.answer(outs[0].Sent()[0].ID, yes)
		for i, out := range outs[1:] {
			if got := out.Sent(); len(got) != 0 || out.Word() != "none" || len(alice.heard("")) != 0 {
				t.Errorf("client %d is asked %v, its call %v", i+1, got, out.All())
			}
		}
		answers := p.answers()
		if len(answers) != 3 || string(answers[2].Result) != yes {
			t.Fatalf("the server is answered %v", answers)
		}
		for _, m := range answers[:2] {
			if m.Error == nil || m.Error.Code != -32601 ||
				!strings.Contains(m.Error.Message, "the client whose call this belongs to has not declared") {
				t.Errorf("the server is answered %v", m.Error)
			}
		}
		for _, call := range calls {
			p.send(answerTo(call.ID))
		}
		r.WaitIdle()
		for i, out := range outs {
			if out.Word() != "result" {
				t.Errorf("call %d ends with %v", i, out.All())
			}
		}
	})
}

// A modern server is told with each request the capabilities of its client, and may ask only for
// those.
func TestOneModernServerHearsOfEachCaller(t *testing.T) {
	run(t, func(r *rig) {
		one(r)
		r.script["files"]["initialize"] = nil
		r.script["files"]["server/discover"] = result(
			`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}}`,
		)
		delete(r.script["files"], "initialize")
	}, func(r *rig) {
		modern := r.caller(elicits)
		modern.call()
		legacy := r.as("bob", interfaces)
		legacy.call()
		p := r.peer("files")
		r.WaitIdle()
		calls := p.heard("tools/call")
		if len(calls) != 2 || len(r.peers["files"]) != 0 || len(p.heard("initialize")) != 0 {
			t.Fatalf("%d calls, %d processes more, greeted %v", len(calls), len(r.peers["files"]),
				p.heard("initialize"))
		}
		var said []string
		for _, m := range calls {
			caps, _ := jsonedit.Get(m.Params, "_meta", protocol.MetaClientCapabilities)
			said = append(said, string(caps))
		}
		want := []string{`{"elicitation":{}}`, interfaces}
		if !slices.Equal(said, want) {
			t.Errorf("it was told %v, want %v", said, want)
		}
	})
}

// A server that is shared by principal has one process for each principal.
func TestOneInstanceForEachPrincipal(t *testing.T) {
	run(t, func(r *rig) {
		one(r)
		r.tenant.Servers[0].Share = tenant.ByPrincipal
	}, func(r *rig) {
		for _, u := range []*user{r.as("alice", `{}`), r.as("alice", elicits), r.as("bob", interfaces),
			r.as("bob", `{}`)} {
			u.call()
		}
		if n := len(r.peers["files"]); n != 2 {
			t.Errorf("%d processes, want 2", n)
		}
	})
}

func answerTo(id jsonrpc.ID) (in transport.Inbound) {
	in.Message, in.RequestID = jsonrpc.Response(id, jsontext.Value(`{"content":[]}`)), id
	return in
}

// Beyond max_instances a client uses an existing process, and gets its notifications like the
// clients for which it was started.
func TestMoreKindsOfClientsThanInstances(t *testing.T) {
	run(t, func(r *rig) {
		silent(r)
		r.tenant.Servers[0].Instances = 2
	}, func(r *rig) {
		plain, asks, ui := r.as("alice", `{}`), r.as("alice", elicits), r.as("alice", interfaces)
		plain.call()
		p := r.peer("files")
		asks.call()
		r.peer("files")
		if out := ui.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		modern := r.caller(elicits)
		modern.principal = "alice"
		modern.call()
		if n := len(r.peers["files"]); n != 0 {
			t.Errorf("%d processes more", n)
		}
		p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		r.WaitIdle()
		if got := ui.heard("notifications/resources/updated"); len(got) != 1 {
			t.Errorf("heard %v", got)
		}
		r.script["files"]["tools/list"] = result(
			`{"tools":[{"name":"other","inputSchema":{"type":"object"}}]}`,
		)
		p.Notify("notifications/tools/list_changed", "")
		time.Sleep(time.Minute)
		if got := ui.heard("notifications/tools/list_changed"); len(got) != 1 {
			t.Errorf("heard %v", got)
		}
		if out := ui.ask("tools/list", ""); !strings.Contains(string(out.Outcome().Result),
			"files__other") {
			t.Errorf("lists %v", out.All())
		}
	})
}
