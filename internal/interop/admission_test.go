//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// A call waits for its user, who may never answer. Other calls of the same program are not delayed:
// they get another instance.
func TestAbandonedCallHoldsUpNobody(t *testing.T) {
	_, as := startAskingHost(t, "input_timeout: 1m", mcptest.HostOptions{})
	ann := as("ann", "past")
	ann.callForState("elicit", "a name") // the client never answers
	for range 3 {
		start := time.Now()
		r := ann.callStateless("1", "tools/call", "echo", `"arguments":{"text":"x"},`)
		if m := r.message(t); m.Error != nil || time.Since(start) > 30*time.Second {
			t.Errorf("after %v: %s", time.Since(start), r.body)
		}
	}
}

// Sessions of one principal make calls that ask their users at the same moment. These are the
// program's first questions. Each user is asked about the call of the user's own session, in both
// eras.
func TestUsersOfOneProgramAreAskedAtOnce(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {past: %s}}}\n",
			selfConfig(t, serveOld, "past")),
	})
	for _, revision := range []string{legacy, modern} {
		t.Run(revision, func(t *testing.T) {
			var all sync.WaitGroup
			for n := range 4 {
				c := dialIn(t, revision, host.MCP+"/past/mcp", "")
				all.Go(func() {
					about := fmt.Sprintf("name %d", n)
					if got := c.call("elicit", map[string]any{"text": about}); got != "accept ann for "+about {
						t.Errorf("got %q", got)
					}
				})
			}
			all.Wait()
		})
	}
}

// If a server of both eras has no sessions in the legacy era, the host uses the modern era.
// Otherwise the server could not ask a legacy client.
func TestLegacyClientOfAServerWithoutSessions(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {free: {url: %q}}}}\n",
			serveStateless(t, newFixture("free"))),
	})
	c := dialIn(t, legacy, host.MCP+"/free/mcp", "")
	if got := c.call("elicit", map[string]any{"text": "a name"}); got != "accept ann for a name" {
		t.Errorf("got %q", got)
	}
}
