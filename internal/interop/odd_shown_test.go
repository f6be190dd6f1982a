package interop

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// The tree, an event and a metric tell an operator which items the aggregate's list has repaired or
// left out. The list of the single server has the items unchanged, byte for byte.
func TestOddItemsAreShown(t *testing.T) {
	const items = `{"name":"nothing", "title" : null},{"inputSchema":{"type":"object"}},{"name":"text","inputSchema":"object"}`
	row := oddRow{name: "odd-shown", says: listing("tools/list", "tools", oddTool("good"), items)}
	web := listen(t, http.HandlerFunc((&oddWeb{only: row.server(oddJSON)}).ServeHTTP))
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {odd: {url: %q}}}}\n", web+"/mcpd/odd/mcp"),
	})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	all := newWire(t, host.MCP+"/mcp", "")
	all.open(legacy)
	want := `[{"name":"odd__nothing","inputSchema":{"type":"object"}},{"name":"odd__good","inputSchema":{"type":"object"}}]`
	if got := string(all.post(list).result(t, "tools")); got != want {
		t.Errorf("the aggregate lists %s, want %s", got, want)
	}
	one := newWire(t, host.MCP+"/odd/mcp", "")
	one.open(legacy)
	if got := string(one.post(list).result(t, "tools")); got != "["+items+","+oddTool("good")+"]" {
		t.Errorf("the server alone lists %s", got)
	}
	const shown = "tools: 2 left out (tool has no name), 1 repaired (nothing)"
	if tree := newWire(t, host.Admin, "").do(http.MethodGet, host.Admin+"/admin/v1/tree",
		""); !strings.Contains(string(tree.body), shown) {
		t.Errorf("the tree does not say %q: %s", shown, tree.body)
	}
	for _, event := range []string{
		`"event":"items_odd","tenant":"default","server":"odd"`,
		`"action":"left_out","items":2,"reason":"tool has no name"`,
		`"action":"repaired","items":1,"first":"nothing"`,
	} {
		if !strings.Contains(host.Log(), event) {
			t.Errorf("the log has no event with %s", event)
		}
	}
	if n := metric(t, host, "mcpd_upstream_odd_items_total"); n != 3 {
		t.Errorf("mcpd_upstream_odd_items_total is %v, want 3", n)
	}
}
