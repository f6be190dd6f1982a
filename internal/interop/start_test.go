package interop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// hundred returns a configuration with a hundred servers that behave in different ways. The last
// one, fast, works at once.
func hundred(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("limits: {list_wait: 3s}\ntenants: {default: {servers: {\n")
	for i := range 99 {
		server := []string{
			"{builtin: demo}",
			"{command: /bin/sleep, args: ['300']}", // starts and never answers
			"{command: /bin/sh, args: [-c, 'sleep 3; exit 1']}",
			"{command: /no/such/program}",
			`{url: "http://127.0.0.1:1/mcp"}`,
		}[i%5]
		fmt.Fprintf(&b, "  s%d: %s,\n", i, server)
	}
	fmt.Fprintf(&b, "  fast: %s\n}}}\n", selfConfig(t, serveSDK, "fast"))
	return b.String()
}

// The host is ready at once whatever its servers do. A client that needs one of the servers waits
// for none of the others, at the server's endpoint and in the aggregate. The goal for the server's
// endpoint is 300 ms; the limits in this test allow for a busy machine and the race detector.
func TestAHundredServersDelayNobody(t *testing.T) {
	mcptest.Mcpd(t) // build before the clock starts
	config := hundred(t)
	start := time.Now()
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	t.Logf("ready after %v", time.Since(start))
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("ready after %v", took)
	}
	for _, view := range []struct {
		name, path, tool string
		within           time.Duration
	}{
		{"alone", "/fast/mcp", "echo", 3 * time.Second},
		// The host waits 2 s for the descriptions of servers that are starting, and only once.
		{"of all", "/mcp", "fast__echo", 5 * time.Second},
		{"of all, again", "/mcp", "fast__echo", 1500 * time.Millisecond},
	} {
		start = time.Now()
		c := dial(t, host.MCP+view.path, "")
		connected := time.Since(start)
		if got := c.call(view.tool, map[string]any{"text": "hi"}); got != "hi" {
			t.Errorf("%s: got %q", view.name, got)
		}
		t.Logf("%s: connected after %v, answered after %v", view.name, connected, time.Since(start))
		if took := time.Since(start); took > view.within {
			t.Errorf("%s: answered after %v", view.name, took)
		}
	}
	start = time.Now()
	c := dial(t, host.MCP+"/mcp", "")
	names := strings.Join(c.names(), " ")
	t.Logf("listed after %v", time.Since(start))
	if took := time.Since(start); took > 6*time.Second {
		t.Errorf("listed after %v: the wait for a list is 3 s", took)
	}
	for _, want := range []string{"fast__echo", "s0__echo", "s95__echo"} {
		if !strings.Contains(names, want) {
			t.Errorf("no %s among %d bytes of names", want, len(names))
		}
	}
}

// At its own endpoint, a slow server is waited for: there is nothing else to answer, and no other
// client waits. A package that starts for the first time has to be installed first.
func TestSlowServerIsWaitedForWhereItIsAlone(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"limits: {list_wait: 200ms}\ntenants: {default: {servers: {slow: {command: /bin/sh, args: [-c, "+
			"'sleep 1; exec \"$0\"', %q]}}}}\n", mcptest.Server(t))})
	c := dial(t, host.MCP+"/slow/mcp", "")
	if got := c.call("echo", map[string]any{"message": "hi"}); got != "hi" {
		t.Errorf("got %q", got)
	}
}
