package interop

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcpd/internal/mcptest"
)

// A host that crashes repeatedly enters safe mode. Operators see the reason, and clients are told
// to retry later. A kill does not count as a crash. An operator who stops the host has seen the
// reason, so the next start is a normal one.
func TestCrashLoopEndsInSafeMode(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for range 5 {
		mcptest.Start(t, mcptest.HostOptions{State: state}).Kill()
	}
	for range 3 {
		// The Go runtime dumps its goroutines and exits on SIGABRT, like in a crash.
		mcptest.Start(t, mcptest.HostOptions{State: state}).Signal(syscall.SIGABRT)
	}
	home := []string{"XDG_RUNTIME_DIR=" + t.TempDir()}
	host := mcptest.StartUnready(t, mcptest.HostOptions{State: state, Env: home})
	w := newWire(t, host.MCP+"/mcp", "")
	if r := w.post(hello); r.status != http.StatusServiceUnavailable ||
		r.header.Get("Retry-After") != "60" || !strings.Contains(string(r.body), "safe mode") {
		t.Errorf("a client: %d %v %s", r.status, r.header, r.body)
	}
	admin := newWire(t, host.Admin, "")
	if r := admin.do(http.MethodGet, host.Admin+"/readyz",
		""); r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), "SIGABRT") {
		t.Errorf("readyz: %d %s", r.status, r.body)
	}
	for _, path := range []string{"/livez", "/admin/v1/tree", "/metrics"} {
		if r := admin.do(http.MethodGet, host.Admin+path, ""); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	code, said := mcpd(t, "", home, "reload", "--admin", strings.TrimPrefix(host.Admin, "http://"))
	if code != 1 || !strings.Contains(said, "safe mode") || !strings.Contains(said, "SIGABRT") ||
		!strings.Contains(said, "stop the host and start it again") {
		t.Errorf("reload: exit code %d, %s", code, said)
	}
	if last, err := os.ReadFile(filepath.Join(state, "crash.txt.last")); err != nil ||
		!strings.Contains(string(last), "goroutine") {
		t.Errorf("what the last one said: %.100s, %v", last, err)
	}
	if code := host.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if told := strings.Count(host.Log(), `"event":"safe_mode"`); told != 2 {
		t.Errorf("the log says %d times that this is safe mode, want once more for the reload", told)
	}
	w = newWire(t, mcptest.Start(t, mcptest.HostOptions{State: state}).MCP+"/mcp", "")
	w.open(legacy)
}
