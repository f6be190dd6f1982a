//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// An SDK server loses its list subscribers when a subscription to a resource ends. Clients still
// receive notifications of list changes.
func TestListsAreHeardOfAfterASubscriptionEnded(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {proc: %s}}}\n",
			selfConfig(t, serveSDK, "proc")),
	})
	c := dialIn(t, modern, host.MCP+"/proc/mcp", "")
	c.awaitConfirmation()
	uri := "fixture://proc/watched"
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	c.awaitConfirmation()
	if err := c.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // nothing confirms the unsubscription
	c.call("add_tool", map[string]any{"text": "later"})
	c.await("tools")
}
