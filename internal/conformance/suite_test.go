// Package conformance runs the official MCP conformance suite against a real mcpd, through mcpd against servers of both eras, and against
// mcpd's client, and says which scenarios passed. It does not know what the scenarios check: the suite does, and this package only makes
// sure that all of them ran. It needs Node and, once, the network, so its long test runs only when MCPD_CONFORMANCE is set, as `make
// conformance` does.
package conformance

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) {
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); scenario != "" {
		os.Exit(play(scenario, os.Args[len(os.Args)-1]))
	}
	mcptest.Main(m)
}

// The suite and the Node that runs it, pinned: a newer one is a change of ours.
const (
	suitePackage = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	nodePackage  = "node@22"
)

// suiteTime bounds a run, which takes five seconds once npm has fetched the packages. Fetching takes about fifteen.
const suiteTime = 5 * time.Minute

// atOnce is how many runs go on at the same time: most of a run is waiting, and some of it measures how long.
const atOnce = 3

// S4-145: the built-in server meets every scenario of both eras on one endpoint. What another server can do without mcpd it can do behind
// it, for clients of its era and, but for what the bridge table excludes, of the other. And mcpd as a client meets every scenario.
func TestHostPassesTheOfficialSuite(t *testing.T) {
	if os.Getenv("MCPD_CONFORMANCE") == "" {
		t.Skip("runs only with MCPD_CONFORMANCE set: it needs Node and downloads the suite")
	}
	if out, err := suite(t, nil, "--version").CombinedOutput(); err != nil { // fetches it, once for all
		t.Fatalf("%v\n%s", err, out)
	}
	groups := append(serverRuns(t), clientRuns(t)...)
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for _, group := range groups {
		for _, r := range group {
			all.Go(func() {
				turns <- struct{}{}
				r.do(t)
				<-turns
			})
		}
	}
	all.Wait()
	var b strings.Builder
	for _, group := range groups {
		b.WriteString("\n" + table(group))
	}
	t.Log(b.String())
	for _, group := range groups {
		for _, r := range group {
			for _, wrong := range r.wrongs() {
				t.Error(wrong)
			}
		}
	}
}

// do runs the set. That the suite itself was not content is known from its results, which tell more.
func (r *run) do(t *testing.T) {
	dir := t.TempDir()
	command := suite(t, r.env, append([]string{r.role, "--requirements", r.revision, "-o", dir}, r.args...)...)
	output, _ := command.CombinedOutput()
	outcomes, err := r.read(os.DirFS(dir))
	if err != nil {
		t.Error(err)
	}
	for _, o := range outcomes {
		if !o.ran {
			t.Logf("%s, %s: output of the suite:\n%s", r.set, r.name, output)
			break
		}
	}
	r.outcomes = outcomes
}

// suite is the command of the suite with these arguments.
func suite(t *testing.T, env []string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, "npx", append([]string{"-y", "-p", nodePackage, "-p", suitePackage, "conformance"}, args...)...)
	command.Env = append(os.Environ(), env...)
	command.WaitDelay = 10 * time.Second // for grandchildren of npx that keep the pipe open after it was killed
	return command
}
