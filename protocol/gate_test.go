package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

func TestGate(t *testing.T) {
	all := serverCaps(t, `{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},`+
		`"tools":{"listChanged":true},"tasks":{"list":{},"cancel":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	user := clientCaps(
		t,
		`{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"tasks":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
	)
	none := protocol.Gate{}
	for _, tc := range []struct {
		name   string
		v      protocol.Version
		gate   protocol.Gate
		from   protocol.Side
		method string
		params string
		want   string // the word of the condition; empty if the message passes
	}{
		{"S1-7", protocol.V20241105, protocol.Gate{Server: all}, protocol.Client, "tools/call", `{}`, ""},
		{"S1-15: undeclared", protocol.V20241105, protocol.Gate{Server: serverCaps(t, `{"tools":{}}`)},
			protocol.Client, "prompts/list", ``, "capability_not_supported"},
		{"S1-12", protocol.V20251125, none, protocol.Client, "resources/list", ``,
			"capability_not_supported"},
		{"a server that is asked for what it has not declared", protocol.V20251125,
			protocol.Gate{PassUndeclared: true}, protocol.Client, "prompts/list", ``, ""},
		{"… a flag of it", protocol.V20251125, protocol.Gate{PassUndeclared: true}, protocol.Client,
			"resources/subscribe", ``, ""},
		{"… but what the host keeps back", protocol.V20251125,
			protocol.Gate{PassUndeclared: true, Withheld: []string{"prompts"}}, protocol.Client,
			"prompts/list", ``,
			"capability_not_supported"},
		{"… with its flags", protocol.V20251125,
			protocol.Gate{PassUndeclared: true, Withheld: []string{"resources"}}, protocol.Client,
			"resources/subscribe", ``, "capability_not_supported"},
		{"… and not what its name begins with", protocol.V20251125,
			protocol.Gate{PassUndeclared: true, Withheld: []string{"resource"}}, protocol.Client,
			"resources/list", ``,
			""},
		{"… a client is not", protocol.V20251125, protocol.Gate{PassUndeclared: true}, protocol.Server,
			"roots/list", ``, "capability_not_supported"},
		{"… tasks are the host's", protocol.V20251125, protocol.Gate{PassUndeclared: true},
			protocol.Client,
			"tasks/get", ``, "capability_not_supported"},
		{"… a notification is not asked", protocol.V20251125, protocol.Gate{PassUndeclared: true},
			protocol.Server,
			"notifications/message", ``, "capability_not_supported"},
		{"… no method of another revision", protocol.V20260728, protocol.Gate{PassUndeclared: true},
			protocol.Client, "logging/setLevel", ``, "method_not_found"},
		{"S1-8: subscribe is its own flag", protocol.V20251125,
			protocol.Gate{Server: serverCaps(t, `{"resources":{}}`)}, protocol.Client, "resources/subscribe",
			``, "capability_not_supported"},
		{"S1-16: undeclared notification", protocol.V20251125,
			protocol.Gate{Server: serverCaps(t, `{"resources":{}}`)}, protocol.Server,
			"notifications/resources/list_changed", ``, "capability_not_supported"},
		{"S1-9", protocol.V20251125, protocol.Gate{Server: all}, protocol.Server,
			"notifications/resources/list_changed", ``, ""},
		{"S1-11", protocol.V20251125, protocol.Gate{Server: all}, protocol.Client,
			"logging/setLevel", ``, ""},
		{"C6: roots/list_changed is the client's", protocol.V20251125, protocol.Gate{Client: user},
			protocol.Client, "notifications/roots/list_changed", ``, ""},
		{"C6: not the server's", protocol.V20251125, protocol.Gate{Client: user}, protocol.Server,
			"notifications/roots/list_changed", ``, "method_not_found"},
		{"C8: ping in 2024-11-05", protocol.V20241105, none, protocol.Client, "ping", ``, ""},
		{"ping by the server", protocol.V20241105, none, protocol.Server, "ping", ``, ""},
		{"no ping in 2026-07-28", protocol.V20260728, none, protocol.Client, "ping", ``,
			"method_not_found"},
		{"C8: no requests/cancel", protocol.V20251125, none, protocol.Client, "requests/cancel", ``,
			"method_not_found"},
		{"C8: no tasks/create", protocol.V20251125, protocol.Gate{Server: all}, protocol.Client,
			"tasks/create", ``, "method_not_found"},
		{"completion needs no capability in 2024-11-05", protocol.V20241105, none, protocol.Client,
			"completion/complete", ``, ""},
		{"completion needs one later", protocol.V20250326, none, protocol.Client, "completion/complete",
			``, "capability_not_supported"},
		{"wrong direction", protocol.V20251125, protocol.Gate{Server: all, Client: user}, protocol.Server,
			"tools/call", ``, "method_not_found"},
		{"params as an array", protocol.V20251125, protocol.Gate{Server: all}, protocol.Client,
			"tools/call", `[]`, "invalid_params"},
		{"no version", 0, protocol.Gate{Server: all}, protocol.Client, "tools/call", ``,
			"method_not_found"},
		{"no side", protocol.V20251125, protocol.Gate{Server: all}, 0, "tools/call", ``,
			"method_not_found"},

		{"sampling undeclared", protocol.V20251125, none, protocol.Server, "sampling/createMessage", ``,
			"capability_not_supported"},
		{"S1-13: sampling", protocol.V20241105, protocol.Gate{Client: user}, protocol.Server,
			"sampling/createMessage", `{"maxTokens":1000}`, ""},
		{"sampling with tools undeclared", protocol.V20251125, protocol.Gate{Client: user},
			protocol.Server, "sampling/createMessage", `{"tools":[]}`, "invalid_params"},
		{"sampling with tools", protocol.V20251125,
			protocol.Gate{Client: clientCaps(t, `{"sampling":{"tools":{}}}`)}, protocol.Server,
			"sampling/createMessage", `{"toolChoice":{}}`, ""},
		{"form", protocol.V20250618, protocol.Gate{Client: user}, protocol.Server, "elicitation/create",
			`{"message":"?"}`, ""},
		{"form, named", protocol.V20251125, protocol.Gate{Client: user}, protocol.Server,
			"elicitation/create", `{"mode":"form"}`, ""},
		{"url undeclared", protocol.V20251125, protocol.Gate{Client: user}, protocol.Server,
			"elicitation/create", `{"mode":"url"}`, "invalid_params"},
		{"mode that does not exist", protocol.V20251125, protocol.Gate{Client: user}, protocol.Server,
			"elicitation/create", `{"mode":"x"}`, "invalid_params"},
		{"no elicitation in 2025-03-26", protocol.V20250326, protocol.Gate{Client: user}, protocol.Server,
			"elicitation/create", ``, "method_not_found"},
		{"no requests by a modern server", protocol.V20260728, protocol.Gate{Client: user},
			protocol.Server, "roots/list", ``, "method_not_found"},

		{"tasks of the client", protocol.V20251125, protocol.Gate{Client: user}, protocol.Server,
			"tasks/get", ``, ""},
		{"tasks of the server undeclared", protocol.V20251125, protocol.Gate{Client: user},
			protocol.Client, "tasks/get", ``, "capability_not_supported"},
		{"status by whose tasks they are", protocol.V20251125, protocol.Gate{Client: user},
			protocol.Client, "notifications/tasks/status", ``, ""},
		{"status by the other", protocol.V20251125, protocol.Gate{Client: user}, protocol.Server,
			"notifications/tasks/status", ``, "capability_not_supported"},
		{"tasks extension", protocol.V20260728, protocol.Gate{Server: all, Client: user}, protocol.Client,
			"tasks/update", ``, ""},
		{"tasks extension undeclared by the client", protocol.V20260728, protocol.Gate{Server: all},
			protocol.Client, "tasks/get", ``, "capability_required"},
		{"tasks extension undeclared by the server", protocol.V20260728, protocol.Gate{Client: user},
			protocol.Client, "tasks/get", ``, "capability_not_supported"},
		{"core tasks are not the extension", protocol.V20260728,
			protocol.Gate{Server: all, Client: clientCaps(t, `{"tasks":{}}`)}, protocol.Client, "tasks/get",
			``, "capability_required"},
		{"tasks extension's notification", protocol.V20260728, protocol.Gate{Server: all, Client: user},
			protocol.Server, "notifications/tasks", ``, ""},
		{"… is not the client's", protocol.V20260728, protocol.Gate{Server: all, Client: user},
			protocol.Client, "notifications/tasks", ``, "method_not_found"},
		{"no tasks/list in 2026-07-28", protocol.V20260728, protocol.Gate{Server: all, Client: user},
			protocol.Client, "tasks/list", ``, "method_not_found"},

		{"C4: policy", protocol.V20251125,
			protocol.Gate{Server: all, Required: protocol.ClientRequirements()}, protocol.Client,
			"tools/list", ``, "capability_required"},
		{"C4: policy met", protocol.V20251125,
			protocol.Gate{Server: all, Client: clientCaps(t, `{"tools":{}}`),
				Required: protocol.ClientRequirements()}, protocol.Client, "tools/list", ``, ""},
		{"C4: method without requirement", protocol.V20251125,
			protocol.Gate{Server: all, Required: protocol.ClientRequirements()}, protocol.Client,
			"completion/complete", ``, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.gate.Version = tc.v
			err := tc.gate.Check(tc.from, tc.method, jsontext.Value(tc.params))
			if got := ""; err != nil {
				if got = protocol.ConditionOf(err).String(); got != tc.want {
					t.Errorf("got %v, want %q", err, tc.want)
				}
			} else if tc.want != "" {
				t.Errorf("passes, want %q", tc.want)
			}
		})
	}
}

// 2026-07-28 §basic/patterns/mrtr: the requests that a server may put into a result.
func TestGateOnInput(t *testing.T) {
	g := protocol.Gate{Version: protocol.V20260728, Client: clientCaps(t, `{"sampling":{}}`)}
	if err := g.CheckInput("sampling/createMessage", nil); err != nil {
		t.Error(err)
	}
	condition(t, g.CheckInput("elicitation/create", nil), protocol.ConditionCapabilityRequired)
	condition(t, g.CheckInput("tools/call", nil), protocol.ConditionMethodNotFound)
	condition(t, g.CheckInput("sampling/createMessage", jsontext.Value(`{"tools":[]}`)),
		protocol.ConditionInvalidParams)
	g.Version = protocol.V20251125
	condition(t, g.CheckInput("sampling/createMessage", nil), protocol.ConditionMethodNotFound)
}

// S4-92, as far as the specification agrees with it (C8, C9).
func TestMethodAvailability(t *testing.T) {
	for _, v := range protocol.Versions() {
		legacy := v.Era() == protocol.Legacy
		for method, want := range map[string]bool{
			"initialize": legacy, "ping": legacy, "resources/list": true, "tools/call": true,
			"completion/complete": true,
			"elicitation/create":  v.Has(protocol.Elicitation) && legacy, "tasks/create": false,
			"tasks/get": v.Has(protocol.Tasks), "unheard/of": false,
		} {
			if got := protocol.IsMethodAvailable(method, v); got != want {
				t.Errorf("%v %s: got %v, want %v", v, method, got, want)
			}
		}
	}
	for _, name := range protocol.MethodNames() {
		m, ok := protocol.LookupMethod(name)
		if !ok || m.Action() != protocol.MethodAction(name) {
			t.Errorf("%s is not found", name)
		}
	}
	if got := protocol.MethodAction("unheard/of"); got != "use unheard/of" {
		t.Errorf("got %q", got)
	}
	if protocol.Client.Peer() != protocol.Server || protocol.Server.Peer() != protocol.Client ||
		fmt.Sprint(protocol.Client, protocol.Server, protocol.Side(0)) != "client server unknown" {
		t.Error("sides are mixed up")
	}
}

// Every message passes the gate.
func BenchmarkGate(b *testing.B) {
	g := protocol.Gate{Version: protocol.V20251125, Server: serverCaps(b, fullServer)}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Check(protocol.Client, "tools/call", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestGateAllocatesNothing(t *testing.T) {
	g := protocol.Gate{Version: protocol.V20251125, Server: serverCaps(t, fullServer)}
	if n := testing.AllocsPerRun(100, func() { g.Check(protocol.Client, "tools/call", nil) }); n > 0 {
		t.Errorf("got %v allocations", n)
	}
}

func ExampleGate() {
	server, _ := protocol.ParseServerCapabilities(jsontext.Value(`{"tools":{}}`))
	gate := protocol.Gate{Version: protocol.V20251125, Server: server}
	fmt.Println(gate.Check(protocol.Client, "tools/call", nil))

	err := gate.Check(protocol.Client, "prompts/list", nil)
	answer := protocol.Translate(err, gate.Version)
	fmt.Println(answer.Code, answer.Message)
	fmt.Println(strings.TrimSpace(string(answer.Data)))
	// Output:
	// <nil>
	// -32601 capability "prompts" is not supported
	// {"reason":"capability_not_supported","capability":"prompts"}
}
