package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// stdio returns the command of `mcpd stdio` as a client starts it, without access to the
// configuration of this machine.
func stdio(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(mcptest.Mcpd(t), append([]string{"stdio"}, args...)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), append([]string{
		"HOME=" + command.Dir, "XDG_CONFIG_HOME=" + command.Dir, "XDG_STATE_HOME=" + command.Dir,
		"MCPD_CONFIG=", "MCPD_URL=", "MCPD_KEY=",
	}, env...)...)
	command.Stderr = os.Stderr
	return command
}

// file writes a configuration and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcpd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A stdio client of either era has every feature, whether `mcpd stdio` connects to a running host
// or is a host itself.
func TestFeaturesOverStdio(t *testing.T) {
	web := serveWithSessions(t, newFixture("web"))
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {acme: {auth: {keys: [%s]}, servers: {proc: %s, web: {url: %q}}}}\n",
		keyConfig("ci", "secret"), selfConfig(t, serveSDK, "proc"), web)})
	alone := file(t, fmt.Sprintf("mcpServers: {proc: %s, web: {url: %q}}\n",
		selfConfig(t, serveSDK, "proc"), web))
	ways := []struct {
		name, server, prefix string
		env, args            []string
	}{
		{"joined/aggregate", "web", "web__", []string{"MCPD_KEY=secret", "MCPD_URL=" + host.MCP},
			[]string{"--tenant", "acme"}},
		{"joined/transparent", "proc", "", []string{"MCPD_KEY=secret"}, []string{
			"--url", host.MCP, "--tenant", "acme", "--server", "proc",
		}},
		{"embedded/aggregate", "proc", "proc__", nil, []string{"--config", alone}},
		{"embedded/transparent", "web", "", nil, []string{"--config", alone, "--server", "web"}},
	}
	for _, way := range ways {
		for _, revision := range []string{legacy, modern} {
			t.Run(way.name+"/"+revision, func(t *testing.T) {
				// one process for all features, because each start takes time
				c := run(t, revision, stdio(t, way.env, way.args...))
				if revision == modern {
					c.awaitConfirmation()
				}
				for _, f := range features {
					t.Run(f.name, func(t *testing.T) {
						c.t = t
						f.do(t, view{c, way.server, way.prefix, way.server == "web"})
					})
				}
				// The SDK closes the input, and sends a signal after 5 s. The process needs no signal, although
				// a call was cancelled.
				start := time.Now()
				if err := c.Close(); err != nil || time.Since(start) > 4*time.Second {
					t.Errorf("mcpd stdio ended with %v after %v", err, time.Since(start))
				}
			})
		}
	}
}
