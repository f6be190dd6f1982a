package interop

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// A server's calls can reach a limit that is configured above the default, even if all of them have
// to wait for the server to start.
func TestLimitOfPendingRequestsIsHonoured(t *testing.T) {
	const calls = 1300
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
limits: {max_pending: 3000, max_session_pending: 2000}
tenants: {default: {servers: {slow: {command: /bin/sh, args: [-c, "sleep 3; exec %s"], env: {%s: slow, %s: %q}}}}}
`, path, serveSDK, quickExit[0], quickExit[1])})
	w := newWire(t, host.MCP+"/mcp", "")
	w.open("2025-11-25")
	var all sync.WaitGroup
	failed := make(chan string, calls)
	for i := range calls {
		all.Go(func() {
			r := w.post(
				fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow__echo","arguments":{"text":"n%d"}}}`, i, i,
				),
			)
			if !strings.Contains(string(r.body), fmt.Sprintf(`"n%d"`, i)) {
				failed <- string(r.body)
			}
		})
	}
	all.Wait()
	if n := len(failed); n > 0 {
		t.Errorf("%d of %d calls failed: %s", n, calls, <-failed)
	}
}
