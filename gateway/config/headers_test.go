package config

import (
	"strings"
	"testing"

	"mcpd/gateway/tenant"
)

// The configuration refuses a header that the client of a server would refuse.
func TestHeadersOfMcpdAreRefused(t *testing.T) {
	for _, name := range []string{
		"Accept", "accept-encoding", "Connection", "CONTENT-ENCODING", "Content-Length", "Content-Type",
		"host", "Keep-Alive",
		"Last-Event-ID", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
		"Mcp-Session-Id", "MCP-Protocol-Version", "mcp-name",
	} {
		var got map[string]tenant.Secret
		if m := putHeader(&got, value{name: name, text: "x"}); m == nil ||
			!strings.Contains(m.reason, "mcpd sets this header itself") {
			t.Errorf("%s: %v", name, m)
		}
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "User-Agent", "Cookie",
		"Proxy-Authorization", "McpX"} {
		var got map[string]tenant.Secret
		if m := putHeader(&got, value{name: name, text: "x"}); m != nil {
			t.Errorf("%s: %v", name, m)
		}
	}
}
