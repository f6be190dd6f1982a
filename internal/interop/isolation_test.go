//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// hashed is a key's line in a configuration.
func hashed(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("{name: %s, sha256: %s}", name, hex.EncodeToString(sum[:]))
}

// What a server says on its own initiative over one client's connection reaches that client, and no other session: not another session of
// the same principal, not another principal, not another tenant (S84).
func TestUnaskedMessagesStayWithTheirConnection(t *testing.T) {
	server := func() string {
		return fmt.Sprintf("{web: {url: %q}, proc: %s}", web(t, newFixture("web")), self(t, serveSDK, "proc"))
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`tenants:
  acme: {auth: {keys: [%s, %s]}, servers: %s}
  zeta: {auth: {keys: [%s]}, servers: %s}
`, hashed("ann", "key-of-ann"), hashed("bob", "key-of-bob"), server(), hashed("zoe", "key-of-zoe"), server())})
	path := map[string]string{"ann": "acme", "bob": "acme", "zoe": "zeta"}
	open := func(who string) *client {
		c := dial(t, host.MCP+"/t/"+path[who]+"/mcp", "key-of-"+who)
		if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"web", "proc"} { // now each has its connections
			c.call(s+"__echo", map[string]any{"text": "x"})
		}
		return c
	}
	speaker, others := open("ann"), []*client{open("ann"), open("bob"), open("zoe")}
	speaker.call("web__log_later", map[string]any{"text": "for one session"})
	speaker.expect("warning for one session")
	speaker.call("proc__log_later", map[string]any{"text": "for one principal"})
	speaker.expect("warning for one principal")
	others[0].expect("warning for one principal") // shares the process
	for i, other := range others {
		// What the other is told last is told after everything that could have gone to it wrongly: same server, same dispatcher.
		other.call("web__log_later", map[string]any{"text": "the end"})
		var heard []string
		for got := range other.news {
			if got == "warning the end" {
				break
			}
			heard = append(heard, got)
		}
		if slices.ContainsFunc(heard, func(s string) bool { return s != "" }) {
			t.Errorf("other %d heard %q", i, heard)
		}
	}
}
