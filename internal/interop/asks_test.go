//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// A server that asks its user without waiting and answers the call is given the user's answer later.
func TestAnswerToAServerThatDoesNotWait(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {proc: %s, web: {url: %q}}}}\n",
		self(t, serveOld, "proc"), web(t, newFixture("web").old()))})
	for _, server := range []string{"proc", "web"} {
		for _, how := range []string{"during", "alone"} {
			t.Run(server+"/"+how, func(t *testing.T) {
				c := dialIn(t, legacy, host.MCP+"/"+server+"/mcp", "")
				c.slow = 500 * time.Millisecond
				if got := c.call("ask_later", map[string]any{"text": how, "level": how}); got != "asked" {
					t.Errorf("the call: %q", got)
				}
				if got := c.call("await_answer", nil); got != "accept ann for "+how {
					t.Errorf("the answer: %q", got)
				}
			})
		}
	}
}

// A question that a client of 2026-07-28 leaves unanswered holds one instance of its server. Later clients
// of the same kind hear of what they change on another one, and list it.
func TestUnansweredQuestionEndsNoNews(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {past: %s}}}\n", self(t, serveOld, "past"))})
	const uri = "fixture://past/watched"
	earlier := dialIn(t, modern, host.MCP+"/past/mcp", "")
	earlier.confirmed()
	newWire(t, host.MCP+"/past/mcp", "").asked("elicit", "a name") // and nobody comes back
	for _, tool := range []string{"first", "second"} {
		later := dialIn(t, modern, host.MCP+"/past/mcp", "")
		later.confirmed()
		if err := later.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		later.confirmed()
		later.call("touch", map[string]any{"text": uri})
		later.until("updated " + uri)
		later.call("add_tool", map[string]any{"text": tool})
		for _, c := range []*client{earlier, later} {
			c.until("tools")
			if !slices.Contains(c.names(), tool) {
				t.Errorf("%q is not in %q", tool, c.names())
			}
		}
		if got := earlier.call(tool, nil); got != "I am new" {
			t.Errorf("%q", got)
		}
	}
}
