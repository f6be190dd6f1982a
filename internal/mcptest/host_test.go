package mcptest

import (
	"os"
	"strings"
	"testing"
)

// start runs this test binary as a host. See pretend.
func start(t *testing.T, how string, o HostOptions) *Host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := hostBinary
	hostBinary = func() (string, error) { return self, nil }
	t.Cleanup(func() { hostBinary = before })
	o.Env = append(o.Env, fakeHost+"="+how)
	return Start(t, o)
}

func TestHostIsReadyOnPortsOfItsOwn(t *testing.T) {
	h := start(t, "well", HostOptions{Config: "listen: 127.0.0.1:1", Args: []string{"--chaos"}})
	for _, url := range []string{h.MCP, h.Admin} {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("url = %q", url)
		}
	}
	if h.MCP == h.Admin {
		t.Errorf("both listeners at %s", h.MCP)
	}
	if got := status(t.Context(), h.Admin+"/readyz"); got != 200 {
		t.Errorf("status = %d after Start", got)
	}
	if code := h.Stop(); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	for _, want := range []string{"--state-dir", "mcpd.yaml", "--chaos", "stopping"} {
		if !strings.Contains(h.Log(), want) {
			t.Errorf("no %q in the log:\n%s", want, h.Log())
		}
	}
}

func TestHostTellsHowItEnded(t *testing.T) {
	h := start(t, "fails", HostOptions{})
	if code := h.Stop(); code != 3 {
		t.Errorf("exit code = %d, want 3", code)
	}
	h = start(t, "well", HostOptions{State: h.State})
	h.Kill()
	if h.exited == nil || exitCode(h.exited) != -1 {
		t.Errorf("after SIGKILL: %v", h.exited)
	}
	if strings.Contains(h.Log(), "stopping") {
		t.Error("a killed host had time to say so")
	}
}
