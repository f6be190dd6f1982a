// Package conformance runs the official MCP conformance suite against a real mcpd. The suite
// tests mcpd's built-in server, servers of the official SDKs and of the suite through mcpd, and
// mcpd as a client. The suite decides what each scenario checks. This package only makes sure
// that all scenarios ran, and judges their results. The long test needs Node and, once, the
// network. It runs only when MCPD_CONFORMANCE is set, as `make conformance` does.
package conformance

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

var update = flag.Bool("update", false, "write docs/conformance.md")

func TestMain(m *testing.M) {
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); scenario != "" {
		os.Exit(runClient(scenario, os.Args[len(os.Args)-1]))
	}
	mcptest.Main(m)
}

// Pinned versions of the suite and of the Node that runs it. An update is a change to this
// package.
const (
	suitePackage = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	nodePackage  = "node@22"
)

// suiteTime bounds one run. A run takes about five seconds.
const suiteTime = 5 * time.Minute

// maxConcurrentRuns is the number of concurrent runs. A run mostly waits, and some scenarios
// measure the time.
const maxConcurrentRuns = 3

// S4-145: the built-in server passes every scenario of both eras on one endpoint. A scenario that
// another server passes without mcpd also passes through mcpd, for clients of either era, except
// for the listed exceptions. mcpd as a client passes every scenario.
func TestHostPassesTheOfficialSuite(t *testing.T) {
	if os.Getenv("MCPD_CONFORMANCE") == "" {
		t.Skip("runs only with MCPD_CONFORMANCE set: it needs Node and downloads the suite")
	}
	p := prepare(t)
	groups := append(serverRuns(t, p), clientRuns(t)...)
	var all sync.WaitGroup
	slots := make(chan struct{}, maxConcurrentRuns)
	for _, group := range groups {
		for _, r := range group {
			all.Go(func() {
				slots <- struct{}{}
				began := time.Now()
				r.do(t, p)
				t.Logf("%s, %s: %v", r.set, r.name, time.Since(began).Round(time.Second/10))
				<-slots
			})
		}
	}
	all.Wait()
	for _, group := range groups {
		for _, r := range group {
			for _, note := range r.notes() {
				t.Error(note)
			}
		}
	}
	text := page(t, groups)
	if *update {
		if err := os.WriteFile(docsPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	before, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if !strings.Contains(string(before), line) {
			t.Errorf("docs/conformance.md lacks %q: run make conformance UPDATE=-update", line)
		}
	}
	if len(before) != len(text) && !t.Failed() {
		t.Error("docs/conformance.md has more than this run came to: run make conformance UPDATE=-update")
	}
}

// do runs the set and reads its outcomes. The suite's exit status is ignored: its results tell
// more.
func (r *run) do(t *testing.T, p programs) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	args := append([]string{p.suite, r.role, "--requirements", r.revision, "-o", dir}, r.args...)
	command := exec.CommandContext(ctx, p.node, args...)
	command.Env = append(os.Environ(), r.env...)
	command.WaitDelay = 10 * time.Second // for clients under test that keep the pipe open
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
