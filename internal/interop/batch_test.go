package interop

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// F50: Only 2025-03-26 has arrays of messages. The host answers each request of an array
// separately, whatever else the array contains. It refuses an array that is empty, too long or of
// another revision as a whole.
func TestBatches(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: "tenants: {default: {servers: {demo: {builtin: demo}}}}\n",
	})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"message":"here"}}}`
	const told = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	array := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(ping+",", n), ",") + "]"
	}
	for _, c := range []struct {
		name, revision, body string
		status, answers      int
		text                 string
	}{
		{"requests of one id", "2025-03-26", "[" + ping + "," + call + "," + told + "]", 200, 2,
			`"text":"here"`},
		{"as many as may be", "2025-03-26", array(50), 200, 50, ""},
		{"one more", "2025-03-26", array(51), 400, 0, "-32600"},
		{"far too many", "2025-03-26", array(10_000), 400, 0, "-32600"},
		{"empty", "2025-03-26", " [ ] ", 400, 0, "-32600"},
		{"an array in an array", "2025-03-26", "[[" + ping + "]," + ping + "]", 200, 2, "-32600"},
		{"nothing to answer", "2025-03-26", "[" + told + `,{"jsonrpc":"2.0","id":9,"result":{}}]`,
			202, 0, ""},
		{"strangers", "2025-03-26", `[1,"a",null]`, 200, 3, "-32600"},
		{"one that waits and one that is unknown", "2025-03-26",
			`[` + call + `,{"jsonrpc":"2.0","id":2,"method":"no/such"}]`, 200, 2, "-32601"},
		{"before", "2025-06-18", "[" + ping + "]", 400, 0, "-32600"},
		{"after", "2025-11-25", "[" + ping + "]", 400, 0, "-32600"},
		{"of the modern era", "2025-03-26",
			`[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` +
				protocol.MetaProtocolVersion + `":"2026-07-28"}}}]`, 400, 0, "-32600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWire(t, host.MCP+"/mcp", "")
			w.open(c.revision)
			r := w.post(c.body)
			answers := 0
			if r.status == http.StatusOK {
				messages, batch, err := jsonrpc.DecodeBatch(bytes.TrimSpace(r.body), jsonrpc.Limits{})
				if err != nil || !batch {
					t.Errorf("the answer is no array: %s, %v", r.body, err)
				}
				answers = len(messages)
			}
			if r.status != c.status || answers != c.answers || !strings.Contains(string(r.body), c.text) {
				t.Errorf("got %d with %d answers, %.300s; want %d with %d, %s", r.status, answers, r.body,
					c.status, c.answers, c.text)
			}
			w.close()
		})
	}
}
