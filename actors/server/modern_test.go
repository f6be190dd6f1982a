package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/server"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Requests of many clients, some with equal ids, go through one session, and each gets its own
// answer.
func TestEqualIdsOfManyClients(t *testing.T) {
	run(t, silent, func(r *rig) {
		var outs []*testrig.Sink
		for range 20 { // more than one session may have
			outs = append(outs, &testrig.Sink{})
			r.caller(`{}`).askAs(jsonrpc.StringID("same"), "tools/call", bound, outs[len(outs)-1])
		}
		p := r.peer("files")
		asked := p.heard("tools/call")
		if len(asked) != 20 || r.index.Len() != 0 || r.index.Count("acme") != 1 {
			t.Fatalf("%d calls, %d sessions, %d in all", len(asked), r.index.Len(), r.index.Count("acme"))
		}
		r.caller(`{}`).leave(outs[3])
		for range 2 { // an ambiguous id cancels nothing
			_ = r.caller(`{}`).peer().Deliver(r.T.Context(),
				jsonrpc.Notification("notifications/cancelled", []byte(`{"requestId":"same"}`)), nil)
		}
		if got := p.heard("notifications/cancelled"); len(got) != 1 {
			t.Errorf("the server heard %v", got)
		}
		p.answer("tools/call", `{"content":[]}`)
		for i, out := range outs {
			want := map[int]any{3: "cancelled", 19: "result"}[i]
			if want == nil {
				want = "none"
			}
			if out.Word() != want {
				t.Errorf("%d: %v", i, out.All())
			}
		}
	})
}

// The calls of a peer are bounded by its tenant's limit.
func TestPeerIsBounded(t *testing.T) {
	run(t, func(r *rig) { silent(r); r.tenant.Limits.MaxPending = 10 }, func(r *rig) {
		c := r.caller(`{}`)
		for range 10 {
			if out := c.call(); out.Word() != "none" {
				t.Fatalf("got %v", out.All())
			}
		}
		if out := c.call(); out.Word() == "none" || out.Outcome().Error == nil {
			t.Errorf("one more: %v", out.All())
		}
	})
}

// server/discover and the lists answer in every state of the servers: starting for ever, failed, or
// none.
func TestDiscoverInEveryState(t *testing.T) {
	for name, tt := range map[string]struct {
		change       func(r *rig)
		capabilities string // part that the answer must contain
		tools        any    // outcome of tools/list
	}{
		"ready":        {nil, `"tools":{"listChanged":true}`, "result"},
		"one starting": {func(r *rig) { mute(r, "search") }, `"tools":`, "result"},
		"all starting": {func(r *rig) { mute(r, "search"); mute(r, "files") }, `"capabilities":{`, nil},
		"failed": {func(r *rig) {
			r.script["search"], r.script["files"] = script{}, script{}
		}, `"capabilities":{`, nil},
		"none": {func(r *rig) { r.tenant.Servers = nil }, `"capabilities":{`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, tt.change, func(r *rig) {
				c := r.caller(`{}`)
				start := time.Now()
				out := c.ask("server/discover", "")
				for out.Word() == "none" && time.Since(start) < time.Minute {
					time.Sleep(time.Second / 2)
				}
				if took := time.Since(start); took > server.AggregateWait+time.Second {
					t.Errorf("after %v", took)
				}
				m := string(out.Outcome().Result)
				for _, part := range []string{tt.capabilities, `"supportedVersions":["2026-07-28","2025-11-25"`,
					`"resultType":"complete"`, `"name":"mcpd"`} {
					if !strings.Contains(m, part) {
						t.Errorf("%s is not in %s", part, m)
					}
				}
				list := c.ask("tools/list", "")
				time.Sleep(20 * time.Second)
				kind, _ := jsonedit.GetString(list.Outcome().Result, "resultType")
				switch word := list.Word(); {
				case tt.tools != nil && (word != tt.tools || kind != "complete"):
					t.Errorf("tools/list: %v", list.All())
				case tt.tools == nil && word != "result" && word != int64(-32601):
					t.Errorf("tools/list without any: %v", list.All())
				}
			})
		})
	}
}

// Capabilities offered for a server that was starting are not refused when the server turns out to
// lack them; their lists are empty.
func TestWhatWasOfferedIsEmptyAtWorst(t *testing.T) {
	run(t, func(r *rig) {
		r.script["files"]["initialize"] = func(jsontext.Value) string {
			time.Sleep(server.AggregateWait + time.Second)
			return offers(`{"tools":{}}`)(nil)
		}
	}, func(r *rig) {
		c := r.caller(`{}`)
		out := c.ask("server/discover", "")
		time.Sleep(server.AggregateWait + time.Millisecond)
		if offered, _ := jsonedit.Get(out.Outcome().Result, "capabilities", "prompts"); offered == nil {
			t.Fatalf("discovered %v", out.All())
		}
		time.Sleep(time.Minute)
		for method, list := range map[string]string{"prompts/list": "prompts",
			"resources/list": "resources"} {
			out := c.ask(method, "")
			if items, _ := jsonedit.Get(out.Outcome().Result, list); string(items) != "[]" {
				t.Errorf("%s: %v", method, out.All())
			}
		}
	})
}

// A transparent endpoint presents its server, under the server's name, and has no answer without
// it.
func TestDiscoverOfOneServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		out := c.ask("server/discover", "")
		if !strings.Contains(string(out.Outcome().Result), `"name":"peer"`) {
			t.Errorf("got %v", out.All())
		}
		time.Sleep(time.Minute) // by now the lists are known; before, listChanged is offered for each
		out = c.ask("server/discover", "")
		if got, _ := jsonedit.Get(out.Outcome().Result, "capabilities"); string(got) != all {
			t.Errorf("offers %s, want %s", got, all)
		}
		if out := c.ask("tools/call", `{"name":"read"}`); out.Word() != "result" {
			t.Errorf("a call: %v", out.All())
		}
		if out := c.ask("tools/list", ""); out.Word() != "result" {
			t.Errorf("a list: %v", out.All())
		}
	})
	run(t, func(r *rig) { r.script["files"] = script{} }, func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		out := c.ask("server/discover", "")
		time.Sleep(time.Minute)
		if out.Word() != int64(-32603) {
			t.Errorf("without its server: %v", out.All())
		}
	})
}

// A method that the revision lacks, or that no server offers, is refused. So is a method for which
// the configuration requires a missing capability.
func TestStandaloneRequestsAreChecked(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["initialize"] = offers(`{"tools":{}}`) }, func(r *rig) {
		c := r.caller(`{}`)
		for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe",
			"tasks/list", "unknown/method"} {
			if out := c.ask(method, ""); out.Word() != int64(-32601) {
				t.Errorf("%s: %v", method, out.All())
			}
		}
		out := c.ask("prompts/get", `{"name":"files__greet"}`)
		if time.Sleep(time.Minute); out.Word() != int64(-32601) {
			t.Errorf("what nobody offers: %v", out.All())
		}
		m := jsonrpc.Request(jsonrpc.IntID(1), "tools/call", []byte(`{"_meta":5}`))
		bad := &testrig.Sink{}
		if err := c.peer().Call(r.T.Context(), m, nil, bad); err != nil || bad.Word() != int64(-32602) {
			t.Errorf("_meta that is none: %v, %v", bad.All(), err)
		}
	})
}

// Header fields that repeat arguments are checked against the current schema, not against the one
// that this session saw last.
func TestMirroredArgumentsAreChecked(t *testing.T) {
	tools := func(header string) string {
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"read","inputSchema":{"type":"object","properties":{"where":{"type":"string","x-mcp-header":"` + header + `"}}}}]}`
	}
	run(t, func(r *rig) {
		modern(r)
		r.script["files"]["tools/list"] = result(tools("Where"))
	}, func(r *rig) {
		fields := map[string][]string{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"read"}}
		c := r.caller(`{}`)
		c.server = "files"
		c.fields = func(name string) []string { return fields[name] }
		const call = `{"name":"read","arguments":{"where":"here"}}`
		fields["Mcp-Param-Where"] = []string{"here"}
		if out := c.ask("tools/call", call); out.Word() != "result" {
			t.Errorf("the same: %v", out.All())
		}
		fields["Mcp-Param-Where"] = []string{"there"}
		if out := c.ask("tools/call", call); out.Word() != int64(-32020) {
			t.Errorf("another: %v", out.All())
		}
		if out := c.ask("tools/call", `{"name":"other"}`); out.Word() != "result" {
			t.Errorf("a tool without a schema: %v", out.All())
		}
		all := r.caller(`{}`) // its list shows no annotation
		all.fields = func(name string) []string {
			return map[string][]string{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"files__read"}}[name]
		}
		if out := all.ask("tools/call",
			`{"name":"files__read","arguments":{"where":"here"}}`); out.Word() != "result" {
			t.Errorf("in the list of all servers: %v", out.All())
		}
		p := r.peer("files")
		r.script["files"]["tools/list"] = result(tools("Place"))
		p.Notify("notifications/tools/list_changed", `{"_meta":{}}`)
		other := r.caller(`{"roots":{}}`) // it reads the new list; the first peer has the old one
		other.server = "files"
		r.WaitIdle()
		other.ask("tools/list", "")
		delete(fields, "Mcp-Param-Where")
		fields["Mcp-Param-Place"] = []string{"here"}
		if out := c.ask("tools/call", call); out.Word() != "result" {
			t.Errorf("by a newer schema: %v", out.All())
		}
	})
}

// The log lines of a legacy server reach the calls that want them, each at its own level and on its
// own stream. Before a call is sent the server is set to the most verbose level, and it is reset
// when the verbose call has ended.
func TestLogLevelOfACall(t *testing.T) {
	run(t, silent, func(r *rig) {
		plain, quiet, loud := r.caller(`{}`), r.caller(`{}`), r.caller(`{}`)
		quiet.level, loud.level = "error", "debug"
		none := plain.call()
		p := r.peer("files")
		if got := p.heard("logging/setLevel"); len(got) != 0 {
			t.Errorf("nobody wants to hear, and it was set to %v", got)
		}
		few, many := quiet.call(), loud.call()
		less := quiet.call()
		levels := func() (list []string) {
			for _, m := range p.heard("logging/setLevel") {
				level, _ := jsonedit.GetString(m.Params, "level")
				list = append(list, level)
			}
			return list
		}
		if got := levels(); len(got) != 2 || got[0] != "error" || got[1] != "debug" {
			t.Errorf("set to %v", got)
		}
		calls := p.heard("tools/call")
		if len(calls) != 4 {
			t.Fatalf("%d calls", len(calls))
		}
		for _, call := range calls {
			for _, level := range []string{"info", "error"} {
				p.log(call.ID, level)
			}
		}
		p.Notify("notifications/message", `{"level":"error","data":"of nobody"}`)
		for i, tt := range []struct {
			out  *testrig.Sink
			want int
		}{{none, 0}, {few, 1}, {many, 2}, {less, 1}} {
			if got := tt.out.Sent(); len(got) != tt.want {
				t.Errorf("%d heard %v", i, got)
			}
		}
		loud.leave(many)
		quiet.leave(few)
		quiet.call() // another call still wants errors
		quiet.leave(less)
		if got := levels(); len(got) != 2 {
			t.Errorf("set to %v", got)
		}
	})
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		for _, level := range []string{"debug", "error", "error"} {
			c.level = level
			if out := c.call(); out.Word() != "result" {
				t.Errorf("%s: %v", level, out.All())
			}
		}
		got := r.peer("files").heard("logging/setLevel")
		if len(got) != 2 {
			t.Errorf("set %v, want to debug and to error", got)
		}
	})
}

// A retry has its own level, which the server is told before it gets the answer.
func TestLogLevelOfARetry(t *testing.T) {
	run(t, silent, func(r *rig) {
		c, p, token := elicited(r)
		c.level = "info"
		out := c.retry("tools/call", bound, token, `{"elicit-1":`+yes+`}`)
		if got := p.heard("logging/setLevel"); len(got) != 1 || len(p.answers()) != 1 {
			t.Errorf("set %v, answered %v", got, p.answers())
		}
		id := p.heard("tools/call")[0].ID
		p.log(id, "debug")
		p.log(id, "info")
		if got := out.Sent(); len(got) != 1 {
			t.Errorf("heard %v", got)
		}
	})
}

// A modern request declares its client's capabilities, and the configuration may require some.
func TestPolicyAppliesToRequestsThatStandAlone(t *testing.T) {
	run(t, func(r *rig) {
		for i := range r.tenant.Servers {
			r.tenant.Servers[i].Require = map[string]string{"tools/call": "roots"}
		}
		r.tenant.Require = map[string]string{
			"server/discover": "roots", "subscriptions/listen": "roots", "tools/list": "roots",
		}
	}, func(r *rig) {
		c := r.caller(`{}`)
		if out := c.call(); out.Word() != int64(-32021) {
			t.Errorf("without: %v", out.All())
		}
		for _, method := range []string{"server/discover", "subscriptions/listen", "tools/list"} {
			if out := c.ask(method, `{"notifications":{}}`); out.Word() != int64(-32021) {
				t.Errorf("%s without: %v", method, out.All())
			}
		}
		c.capabilities = `{"roots":{}}`
		if out := c.call(); out.Word() != "result" {
			t.Errorf("with: %v", out.All())
		}
	})
}

// 2026-07-28 §basic/patterns/cancellation: after its client has left a call, the messages of its
// server about that call are dropped. They reach neither the call nor another call or subscription
// of the client, which has no other streams.
func TestNothingFollowsACancellation(t *testing.T) {
	run(t, silent, func(r *rig) {
		c := r.caller(elicits)
		c.token, c.level = `"mine"`, "debug"
		listening, other, out := c.ask("subscriptions/listen", everything), c.call(), c.call()
		p := r.latest("files")
		calls := p.heard("tools/call")
		if len(calls) != 2 {
			t.Fatalf("the server heard %v", calls)
		}
		call := calls[1]
		token, _ := jsonedit.Get(call.Params, "_meta", "progressToken")
		progress := func(n int) {
			p.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, n))
		}
		progress(1)
		p.log(call.ID, "error")
		if got := len(out.Sent()); got != 2 {
			t.Fatalf("before: %v", out.Sent())
		}
		c.leave(out)
		before := fmt.Sprint(listening.Sent(), listening.All(), other.Sent(), other.All(),
			out.Sent(), out.Word())
		progress(2)
		p.log(call.ID, "error")
		p.answer("tools/call", `{"content":[]}`)
		p.Notify("notifications/elicitation/complete", `{"elicitationId":"e"}`)
		time.Sleep(time.Minute - time.Second)
		if after := fmt.Sprint(listening.Sent(), listening.All(), other.Sent(), other.All(), out.Sent(),
			out.Word()); after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
	})
}
