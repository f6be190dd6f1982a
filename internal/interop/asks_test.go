//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"fmt"
	"testing"
	"time"

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
