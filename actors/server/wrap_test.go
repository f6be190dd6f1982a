package server_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// A result that depends on answers of the client must not be cached for others.
func TestResultOfARetryIsNotCacheable(t *testing.T) {
	const read = `{"uri":"test://x"}`
	run(t, func(r *rig) {
		modern(r)
		r.script["files"]["resources/read"] = result(
			`{"resultType":"complete","contents":[],"ttlMs":60000,"cacheScope":"public"}`,
		)
	}, func(r *rig) {
		c := r.caller(elicits)
		for _, tt := range []struct {
			out        *testrig.Sink
			ttl, scope string
		}{
			{c.ask("resources/read", read), "60000", `"public"`},
			{c.retry("resources/read", read, "", `{"k":`+yes+`}`), "0", `"private"`},
		} {
			ttl, _ := jsonedit.Get(tt.out.Outcome().Result, "ttlMs")
			scope, _ := jsonedit.Get(tt.out.Outcome().Result, "cacheScope")
			if string(ttl) != tt.ttl || string(scope) != tt.scope {
				t.Errorf("got %v, want %s and %s", tt.out.All(), tt.ttl, tt.scope)
			}
		}
	})
}

// modern makes "files" a modern server.
func modern(r *rig) {
	r.script["files"]["server/discover"] = result(
		`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":` + all + `}`,
	)
	delete(r.script["files"], "initialize")
	for method, list := range map[string]string{
		"tools/list":               `"tools":[{"name":"read","inputSchema":{"type":"object"}}]`,
		"prompts/list":             `"prompts":[{"name":"greet"}]`,
		"resources/list":           `"resources":[{"uri":"test://x","name":"x"}]`,
		"resources/templates/list": `"resourceTemplates":[]`,
	} {
		r.script["files"][method] = result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private",` +
			list + `}`)
	}
}

// The state of a modern server is returned to it unchanged. The client gets it in a form that is
// useless to others, and for another request.
func TestServersOwnStateIsWrapped(t *testing.T) {
	run(t, func(r *rig) {
		modern(r)
		r.script["files"]["tools/call"] = nil
	}, func(r *rig) {
		c := r.caller(elicits)
		out := c.call()
		p := r.peer("files")
		p.answer(
			"tools/call",
			`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":`+
				form+`}},"requestState":"theirs"}`,
		)
		token := state(t, out)
		if token == "theirs" || strings.Contains(token, "theirs") {
			t.Fatalf("the client has %s", token)
		}
		other := *c
		other.principal = "else"
		for name, out := range map[string]*testrig.Sink{
			"tampered": c.retry("tools/call", bound, token+"x", `{"k":`+yes+`}`),
			"other arguments": c.retry("tools/call", `{"name":"files__read","arguments":{"a":1}}`, token,
				`{"k":`+yes+`}`),
			"other principal": other.retry("tools/call", bound, token, `{"k":`+yes+`}`),
			"theirs":          c.retry("tools/call", bound, "theirs", `{"k":`+yes+`}`),
		} {
			if out.Word() != int64(-32602) {
				t.Errorf("%s: %v", name, out.All())
			}
		}
		again := c.retry("tools/call", bound, token, `{"k":`+yes+`}`)
		asked := p.heard("tools/call")
		if got, _ := jsonedit.GetString(asked[len(asked)-1].Params, "requestState"); len(asked) != 2 ||
			got != "theirs" {
			t.Fatalf("the server was sent %v", asked)
		}
		p.answer("tools/call", `{"resultType":"complete","content":[]}`)
		if again.Word() != "result" {
			t.Errorf("got %v", again.All())
		}
		third := c.call()
		p.answer(
			"tools/call",
			`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":`+
				form+`}}}`,
		)
		if token := state(t, third); token != "" {
			t.Errorf("a state of nobody: %q", token)
		}
		bare := c.retry("tools/call", bound, "", `{"k":`+yes+`}`)
		asked = p.heard("tools/call")
		if got, _ := jsonedit.Get(asked[len(asked)-1].Params, "inputResponses"); string(got) != `{"k":`+
			yes+
			`}` || bare.Word() != "none" {
			t.Errorf("the server was sent %v", asked)
		}
		time.Sleep(protocol.InputTimeout + time.Second)
		if out := c.retry("tools/call", bound, token, `{"k":`+yes+`}`); out.Word() != int64(-32602) {
			t.Errorf("late: %v", out.All())
		}
	})
}
