package interop

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

func canList(w *wire) bool {
	return w.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).status == http.StatusOK
}

// checkSecondDaemon starts a second daemon on a state directory that is in use, and checks that it
// refuses to start.
func checkSecondDaemon(t *testing.T, state string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), mcptest.Mcpd(t), "serve", "--listen=127.0.0.1:0",
		"--admin=127.0.0.1:0", "--state-dir", state)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := c.CombinedOutput(); err == nil ||
		!bytes.Contains(out, []byte("another mcpd uses "+state)) {
		t.Errorf("a second daemon: %v, %s", err, out)
	}
}

// If the state directory of a running host is deleted, no session is lost. The host has written the
// directory again, and locked it, before it acknowledges the next session, and after a short time
// if there is no new session.
func TestDeletedStateIsWrittenAnew(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	before := newWire(t, host.MCP+"/mcp", "")
	before.open(legacy)
	if err := os.RemoveAll(host.State); err != nil {
		t.Fatal(err)
	}
	after := newWire(t, host.MCP+"/mcp", "")
	after.open(legacy)
	checkSecondDaemon(t, host.State)
	host.Kill()
	host = restart(t, host, "")
	if !canList(before) || !canList(after) {
		t.Error("a session is gone")
	}
	if err := os.RemoveAll(host.State); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there again", func() bool {
		_, err := os.Stat(filepath.Join(host.State, "state.log"))
		return err == nil
	})
	checkSecondDaemon(t, host.State)
	host.Kill()
	restart(t, host, "")
	if !canList(before) || !canList(after) {
		t.Error("a session is gone of a host that nobody used")
	}
}

// The host does not touch a foreign file in the place of its state file. It continues to serve, and
// /readyz reports the problem until the file is gone.
func TestReplacedStateIsLeftAlone(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	path := filepath.Join(host.State, "state.log")
	if err := os.WriteFile(path+".theirs", []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".theirs", path); err != nil {
		t.Fatal(err)
	}
	admin := newWire(t, host.Admin, "")
	degraded := func() bool {
		return strings.Contains(string(admin.do(http.MethodGet, host.Admin+"/readyz", "").body),
			path+" was replaced by another file")
	}
	eventually(t, "degraded", degraded)
	w := newWire(t, host.MCP+"/mcp", "")
	w.open(legacy)
	if got, err := os.ReadFile(path); string(got) != "theirs" {
		t.Errorf("it is %q now, %v", got, err)
	}
	if !strings.Contains(host.Log(), "state_not_written") {
		t.Error("the log does not say so")
	}
	if err := os.Rename(path, path+".theirs"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "well again", func() bool { return !degraded() })
	host.Kill()
	restart(t, host, "")
	if !canList(w) {
		t.Error("the session is gone")
	}
}
