//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// A call that waits for its user, who may never come back, keeps no other call from the same program: they get another instance.
func TestAbandonedCallHoldsUpNobody(t *testing.T) {
	_, as := tampering(t, "park_time: 1m", mcptest.HostOptions{})
	ann := as("ann", "past")
	ann.asked("elicit", "a name") // and never comes back
	for range 3 {
		start := time.Now()
		r := ann.single("1", "tools/call", "echo", `"arguments":{"text":"x"},`)
		if m := r.message(t); m.Error != nil || time.Since(start) > 30*time.Second {
			t.Errorf("after %v: %s", time.Since(start), r.body)
		}
	}
}

// Two sessions of one principal whose calls ask their users at the same moment, the first that the program ever asked: each is asked about
// its own call, whatever the eras.
func TestUsersOfOneProgramAreAskedAtOnce(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: {past: %s}}}\n", self(t, serveOld, "past"))})
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

// A server of both eras that keeps no session in the older one is spoken to in the newer one: it could ask a legacy client nothing otherwise.
func TestLegacyClientOfAServerWithoutSessions(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: {free: {url: %q}}}}\n", alone(t, newFixture("free")))})
	c := dialIn(t, legacy, host.MCP+"/free/mcp", "")
	if got := c.call("elicit", map[string]any{"text": "a name"}); got != "accept ann for a name" {
		t.Errorf("got %q", got)
	}
}
