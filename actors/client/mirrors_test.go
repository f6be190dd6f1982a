package client_test

import (
	"strings"
	"testing"

	"mcpd/actors/internal/testrig"
	"mcpd/gateway/catalog"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

// Protocol-matrix 4.5, 10.3: a tool whose schema wants an argument repeated that cannot be is left
// out of a modern server's list, and an operator is told once. For a legacy server the same schema
// means nothing.
func TestToolsWithInvalidMirrorsAreNotListed(t *testing.T) {
	const tools = `"tools":[{"name":"good","inputSchema":{"type":"object","properties":{"n":{"type":"string","x-mcp-header":"N"}}}},` +
		`{"name":"bad","inputSchema":{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]`
	events := func(r *rig) []telemetry.ToolsInvalid {
		return testrig.Of[telemetry.ToolsInvalid](&r.Events)
	}
	t.Run("modern", func(t *testing.T) {
		run(t, modern(elicits), func(r *rig) {
			p := r.server()
			p.Reply(p.Expect("server/discover"), discovered)
			p.Reply(p.Expect("tools/list"), `{"resultType":"complete",`+tools+`}`)
			r.WaitIdle()
			p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
			p.Reply(p.Expect("tools/list"), `{"resultType":"complete",`+tools+`}`)
			r.WaitIdle()
			p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
			p.Refuse(p.Expect("tools/list"), -32603, "not now")
			p.Reply(p.Expect("tools/list"), `{"resultType":"complete",`+tools+`}`)
			r.WaitIdle()
			list := r.report().Lists[catalog.Tools]
			if len(list) != 1 || !strings.Contains(string(list[0]), `"good"`) {
				t.Errorf("listed %s", list)
			}
			x := r.forward("one", "tools/list", `{}`)
			p.Reply(p.Expect("tools/list"), `{"resultType":"complete",`+tools+`}`)
			if got := r.outcome(x); got.Err != nil || strings.Contains(string(got.Result), `"bad"`) ||
				!strings.Contains(string(got.Result), `"good"`) {
				t.Errorf("a client that sees this server as it is gets %s, %v", got.Result, got.Err)
			}
			if got := events(r); len(got) != 1 || got[0].Count != 1 || got[0].First != "bad" ||
				got[0].Reason == "" {
				t.Errorf("told %+v", got)
			}
		})
	})
	t.Run("legacy", func(t *testing.T) {
		run(t, nil, func(r *rig) {
			p := r.server()
			p.Handshake(`{"tools":{}}`)
			p.Reply(p.Expect("tools/list"), `{`+tools+`}`)
			r.WaitIdle()
			if list := r.report().Lists[catalog.Tools]; len(list) != 2 || len(events(r)) != 0 {
				t.Errorf("listed %s, told %v", list, events(r))
			}
		})
	})
}
