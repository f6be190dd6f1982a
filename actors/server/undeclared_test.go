package server_test

import (
	"strings"
	"testing"

	"mcpd/actors/capability"
	"mcpd/supervisor/otp"
)

// undeclared is a server that answers methods of capabilities that it has not declared.
func undeclared(declared string) func(r *rig) {
	return func(r *rig) {
		s := r.script["files"]
		s["initialize"] = offers(declared)
		s["prompts/get"] = result(`{"messages":[]}`)
		s["completion/complete"] = result(`{"completion":{"values":["x"]}}`)
		r.script["files"] = s
	}
}

// On a transparent endpoint, a method of an undeclared capability is answered by the server itself,
// as for a direct client.
func TestUndeclaredCapabilityIsAskedFor(t *testing.T) {
	for _, declared := range []string{`{}`, `null`, `{"logging":{}}`, `{"tools":{}}`} {
		run(t, undeclared(declared), func(r *rig) {
			u := r.seesAlone()
			for method, want := range map[string]string{
				"tools/list": "read", "prompts/list": "greet", "resources/list": "test://x",
				"resources/templates/list": "resourceTemplates",
			} {
				if got := string(u.ask(method, "").Outcome().Result); !strings.Contains(got, want) {
					t.Errorf("%s: %s: %s", declared, method, got)
				}
			}
			for method, params := range map[string]string{
				"tools/call": `{"name":"read"}`, "prompts/get": `{"name":"greet"}`,
				"resources/subscribe": `{"uri":"test://x"}`,
				"logging/setLevel":    `{"level":"info"}`,
				"completion/complete": `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"a","value":""}}`,
			} {
				if m := u.ask(method, params).Outcome(); m.Error != nil {
					t.Errorf("%s: %s: %v", declared, method, m.Error)
				}
			}
			delete(r.script["files"], "prompts/list")
			if m := u.ask("prompts/list", "").Outcome(); m.Error == nil || m.Error.Code != -32601 ||
				strings.Contains(m.Error.Message, "capability") {
				t.Errorf("%s: the server's own error: %+v", declared, m.Error)
			}
		})
	}
}

// Modern clients are answered in the same way.
func TestUndeclaredCapabilityIsAskedForByRequestsThatStandAlone(t *testing.T) {
	run(t, undeclared(`{}`), func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		for range 2 {
			if got := string(c.ask("prompts/list", "").Outcome().Result); !strings.Contains(got, "greet") {
				t.Errorf("prompts/list: %s", got)
			}
		}
		if m := c.ask("prompts/get", `{"name":"greet"}`).Outcome(); m.Error != nil {
			t.Errorf("prompts/get: %v", m.Error)
		}
	})
}

// A capability that is disabled on this host is refused, whatever a server answers.
func TestDisabledCapabilityIsNotAskedFor(t *testing.T) {
	run(t, undeclared(`{}`), func(r *rig) {
		if _, err := otp.Do[capability.NotifyRequest, struct{}](r.T.Context(), r.Ref("capabilities"),
			capability.NotifyRequest{Name: "prompts"}); err != nil {
			t.Fatal(err)
		}
		u := r.seesAlone()
		if out := u.ask("prompts/list", ""); out.Word() != int64(-32601) ||
			len(r.peer("files").heard("prompts/get")) != 0 {
			t.Errorf("prompts/list: %v", out.All())
		}
		if got := string(u.ask("tools/list", "").Outcome().Result); !strings.Contains(got, "read") {
			t.Errorf("tools/list: %s", got)
		}
		c := r.caller(`{}`)
		c.server = "files"
		for range 2 {
			if out := c.ask("prompts/list", ""); out.Word() != int64(-32601) {
				t.Errorf("prompts/list that stands alone: %v", out.All())
			}
		}
	})
}

// In the aggregate's lists such a server has the items that it lists, and they work. The aggregate
// declares the lists because of them.
func TestUndeclaredListIsPartOfAll(t *testing.T) {
	run(t, func(r *rig) {
		undeclared(`{}`)(r)
		r.script["search"]["initialize"] = offers(`{}`)
	}, func(r *rig) {
		u := r.open("ci", "")
		hello := u.ask("initialize", greeting("2025-11-25", `{}`))
		u.tell("notifications/initialized", "")
		declared := string(hello.Outcome().Result)
		for _, want := range []string{`"tools":{`, `"prompts":{`, `"resources":{`} {
			if !strings.Contains(declared, want) {
				t.Errorf("%s is not declared: %s", want, declared)
			}
		}
		for method, want := range map[string]string{"tools/list": "files__read",
			"prompts/list": "files__greet", "resources/list": "test://x"} {
			got := string(u.ask(method, "").Outcome().Result)
			if !strings.Contains(got, want) || strings.Contains(got, "incomplete") {
				t.Errorf("%s: %s", method, got)
			}
		}
		if m := u.ask("tools/call", `{"name":"search__find"}`).Outcome(); m.Error != nil &&
			strings.Contains(m.Error.Message, "capability") {
			t.Errorf("tools/call: %v", m.Error)
		}
	})
}
