//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// restart starts the host again, with the state and the address of one that was killed.
func restart(t *testing.T, h *mcptest.Host, config string) *mcptest.Host {
	t.Helper()
	return mcptest.Start(t, mcptest.HostOptions{
		Config: config, State: h.State, Args: []string{"--listen", strings.TrimPrefix(h.MCP, "http://")},
	})
}

// A host that is killed and started again has all sessions that it had acknowledged. Official
// clients continue with their sessions and subscriptions. A deleted session remains deleted.
func TestSessionsSurviveTheHost(t *testing.T) {
	config := fmt.Sprintf("tenants: {default: {servers: {past: %s}}}\n",
		selfConfig(t, serveOld, "past"))
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	c := dialIn(t, legacy, host.MCP+"/past/mcp", "")
	uri := "fixture://past/watched"
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	c.call("touch", map[string]any{"text": uri})
	c.await("updated " + uri) // also shows that the client listens
	gone := newWire(t, host.MCP+"/mcp", "")
	gone.open(legacy)
	gone.close()

	time.Sleep(50 * time.Millisecond) // for the deletion to be saved, for which nothing waits
	host.Kill()
	next := restart(t, host, config)
	if got := c.call("echo", map[string]any{"text": "still here"}); !strings.Contains(got,
		"still here") {
		t.Errorf("got %q", got)
	}
	c.await("tools") // list changes that were announced meanwhile
	c.call("touch", map[string]any{"text": uri})
	c.await("updated " + uri)
	if r := gone.post(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); r.status !=
		http.StatusNotFound {
		t.Errorf("a deleted session: %d %s", r.status, r.body)
	}
	if strings.Contains(next.Log(), "panic") {
		t.Error("it panicked")
	}
}

// An unreadable state does not prevent a start. The host keeps the file, and clients open new
// sessions.
func TestUnreadableStateIsSetAside(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	w := newWire(t, host.MCP+"/mcp", "")
	w.open(legacy)
	host.Kill()
	path := filepath.Join(host.State, "state.log")
	if err := os.WriteFile(path, []byte("this is no state"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := restart(t, host, "")
	if r := w.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.status != http.StatusNotFound {
		t.Errorf("got %d %s", r.status, r.body)
	}
	w.open(legacy)
	kept, err := filepath.Glob(path + ".aside-*")
	if err != nil || len(kept) != 1 || !strings.Contains(next.Log(), kept[0]) {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// If the host is killed, a client that waited for an answer on a resumable stream gets an error,
// which says that the call may have been executed.
func TestCallOfAKilledHostHasAnOutcome(t *testing.T) {
	config := fmt.Sprintf("tenants: {default: {servers: {past: %s}}}\n",
		selfConfig(t, serveOld, "past"))
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	w := newWire(t, host.MCP+"/past/mcp", "")
	w.open(legacy)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(
		`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{"progressToken":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = w.header.Clone()
	response, err := w.carrier.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var id string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "notifications/progress") {
		if is, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = is
		}
	}
	if id == "" {
		t.Fatal("the stream has no ids")
	}
	host.Kill()
	restart(t, host, config)
	r := w.do(http.MethodGet, w.url, "", "Content-Type", "", "Last-Event-Id", id, "Accept",
		"text/event-stream")
	if m := r.message(t); m.ID.Raw() != `"slow"` ||
		!strings.Contains(string(r.body), `"maybeExecuted":true`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

// A session that no client uses ends even if the host is restarted repeatedly. A session that is
// used continues.
func TestIdleSessionEndsOverRestarts(t *testing.T) {
	config := "limits: {session_idle: 3s}\ntenants: {default: {servers: {s: {builtin: demo}}}}\n"
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	used, unused := newWire(t, host.MCP+"/mcp", ""), newWire(t, host.MCP+"/mcp", "")
	used.open(legacy)
	unused.open(legacy)
	begun := time.Now()
	for time.Since(begun) < 8*time.Second {
		if r := used.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != http.StatusOK {
			t.Fatalf("the session that is used: %d %s", r.status, r.body)
		}
		time.Sleep(time.Second)
		host.Kill()
		host = restart(t, host, config)
	}
	if r := unused.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != http.StatusNotFound {
		t.Errorf("the session that nobody has used for %v: %d %s", time.Since(begun), r.status, r.body)
	}
}
