package interop

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// The host is stopped by SIGSTOP, like by a suspended machine, for longer than the idle time of
// sessions and the time-out of calls. When the host continues, sessions and calls have as much time
// left as before.
func TestNothingExpiresForAStop(t *testing.T) {
	const (
		limit   = 3 * time.Second
		stopped = 2 * limit
	)
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {limits: {session_idle: %v, call_timeout: %v}, servers: {past: %s}}}\n",
		limit, limit, selfConfig(t, serveOld, "past"))})
	w := newWire(t, host.MCP+"/mcp", "")
	w.open(legacy)
	caller := newWire(t, host.MCP+"/past/mcp", "")
	caller.open(legacy)
	ended := make(chan time.Time, 1)
	go func() { // ends with the call
		caller.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{"text":"stopped"}}}`)
		ended <- time.Now()
	}()
	time.Sleep(limit / 6)

	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(host.PID(), s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			time.Sleep(stopped)
		}
	}
	again := time.Now()
	time.Sleep(limit / 6) // time for anything that would expire at once
	if r := w.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.status != http.StatusOK {
		t.Errorf("a session that had most of its time left: %d %s", r.status, r.body)
	}
	if remaining := (<-ended).Sub(again); remaining < limit/2 {
		t.Errorf("a call that had most of its time left ended after %v", remaining)
	}
	eventually(t, "the session that nobody uses ended", func() bool {
		time.Sleep(limit + limit/2) // asking uses the session
		return w.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`).status == http.StatusNotFound
	})
}
