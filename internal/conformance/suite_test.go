// Package conformance runs the official MCP conformance suite against a real mcpd and says which scenarios passed. It does not know
// what the scenarios check: the suite does, and this package only makes sure that all of them ran. It needs Node and, once, the
// network, so its long test runs only when MCPD_CONFORMANCE is set, as `make conformance` does.
package conformance

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// The suite and the Node that runs it, pinned: a newer one is a change of ours.
const (
	suitePackage = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	nodePackage  = "node@22"
)

// suiteTime bounds a run, which takes three seconds once npm has fetched the packages. Fetching takes about fifteen.
const suiteTime = 5 * time.Minute

// S4-145: the built-in server, reached through the host as any client would, meets every scenario of 2025-11-25.
func TestHostPassesTheOfficialSuite(t *testing.T) {
	if os.Getenv("MCPD_CONFORMANCE") == "" {
		t.Skip("runs only with MCPD_CONFORMANCE set: it needs Node and downloads the suite")
	}
	host := mcptest.Start(t, mcptest.HostOptions{})
	suite(t, host.MCP+"/demo/mcp")
}

// suite runs the conformance suite against an endpoint.
func suite(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	dir := t.TempDir()
	command := exec.CommandContext(ctx, "npx", "-y", "-p", nodePackage, "-p", suitePackage,
		"conformance", "server", "--url", url, "--requirements", revision, "-o", dir)
	command.WaitDelay = 10 * time.Second // for grandchildren of npx that keep the pipe open after it was killed
	output, failed := command.CombinedOutput()
	outcomes, err := read(os.DirFS(dir))
	if err != nil {
		t.Error(err)
	}
	t.Logf("conformance %s at %s\n%s", revision, url, table(outcomes))
	for _, o := range outcomes {
		if !o.passed() {
			t.Errorf("scenario %s did not pass", o.name)
		}
	}
	if failed != nil {
		t.Errorf("%s: %v", suitePackage, failed)
	}
	if t.Failed() {
		t.Logf("output of the suite:\n%s", output)
	}
}
