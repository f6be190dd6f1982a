package interop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// hundred is a configuration with a hundred servers of every temper. The one that works at once, fast, comes last.
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
	fmt.Fprintf(&b, "  fast: %s\n}}}\n", self(t, serveSDK, "fast"))
	return b.String()
}

// The host is ready at once whatever its servers do, and a client that needs one of them waits for none of the others: neither where it
// sees that one alone, nor where it sees all as one. The goal for the first is 300 ms; the bounds here are for a busy machine and the
// race detector.
func TestAHundredServersDelayNobody(t *testing.T) {
	mcptest.Mcpd(t) // is built before the clock starts
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
		{"of all", "/mcp", "fast__echo", 5 * time.Second},                // 2 s are for servers that are starting to introduce themselves,
		{"of all, again", "/mcp", "fast__echo", 1500 * time.Millisecond}, // and are waited once
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

// A server that is slow to start is waited for where it is seen alone: there is nothing else to say, and nobody else waits. On the first
// start of a package it takes its time to be installed.
func TestSlowServerIsWaitedForWhereItIsAlone(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"limits: {list_wait: 200ms}\ntenants: {default: {servers: {slow: {command: /bin/sh, args: [-c, 'sleep 1; exec \"$0\"', %q]}}}}\n", mcptest.Server(t))})
	c := dial(t, host.MCP+"/slow/mcp", "")
	if got := c.call("echo", map[string]any{"message": "hi"}); got != "hi" {
		t.Errorf("got %q", got)
	}
}
