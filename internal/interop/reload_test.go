package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/clock"
	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// steadyAnd returns a configuration with a server that never changes, and more servers.
func steadyAnd(t *testing.T, more string) string {
	return fmt.Sprintf("tenants: {default: {servers: {steady: {command: %q, share: tenant}%s}}}\n",
		mcptest.Server(t), more)
}

// pidOf returns the process id of a server, as the tree shows it.
func pidOf(t *testing.T, host *mcptest.Host, server string) string {
	t.Helper()
	tree := exec.Command(mcptest.Mcpd(t), "tree", "--all", "--admin",
		strings.TrimPrefix(host.Admin, "http://"))
	out, err := tree.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, below, _ := strings.Cut(string(out), " "+server+" ")
	m := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(below)
	if m == nil {
		t.Fatalf("%s has no process:\n%s", server, out)
	}
	return m[1]
}

// F59: A hundred reloads that add, change, remove and break servers cause no error and no new
// process for clients of a server that does not change.
func TestReloadsUnderLoad(t *testing.T) {
	const reloads, pause = 100, 50 * time.Millisecond // twelve times as fast as a hundred a minute
	file := filepath.Join(t.TempDir(), "mcpd.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(steadyAnd(t, ""))
	host := mcptest.Start(t, mcptest.HostOptions{Args: []string{"--config", file}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var clients []load.Client
	for range 4 {
		s, err := load.Connect(ctx, load.SessionOptions{
			URL: host.MCP + "/steady/mcp", Tool: "echo", Argument: "message",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
		clients = append(clients, s)
	}
	over, end := context.WithCancel(ctx)
	result := make(chan load.Result, 1)
	go func() { // ends with the reloads
		r, err := load.Run(over, clients, load.Options{
			Clock: clock.System, Run: 1, Workers: 8, Calls: 1 << 20, For: time.Minute,
			Timeout: 20 * time.Second,
		})
		if err != nil {
			t.Error(err)
		}
		result <- r
	}()
	dial(t, host.MCP+"/steady/mcp", "").call("echo", map[string]any{"message": "here"})
	before := pidOf(t, host, "steady")
	more := []string{
		`, other: {builtin: demo}`, `, other: {builtin: demo, allow_server_requests: false}`,
		`, other: {command: /no/such/program}`, ``, `, other: {builtin: nothing}`,
	}
	for i := range reloads {
		write(steadyAnd(t, more[i%len(more)]))
		if err := syscall.Kill(host.PID(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
	}
	if after := pidOf(t, host, "steady"); after != before {
		t.Errorf("the process was %s and is %s", before, after)
	}
	end()
	r := <-result
	t.Logf("%d calls, p50 %v, p99 %v", r.Counts.OK, r.Quantile(0.5), r.Quantile(0.99))
	if !r.Clean() || r.Counts.OK == 0 {
		t.Errorf("%+v, %v", r.Counts, r.Errors)
	}
	log := host.Log()
	if applied := strings.Count(log, `"event":"config_loaded"`); applied < reloads/2 {
		t.Errorf("%d configurations were applied", applied)
	}
	if !strings.Contains(log, `"event":"config_rejected"`) {
		t.Error("no mistake was told")
	}
}

// F60: Every call in flight gets its answer when the host is told to stop.
func TestNothingUnderWayIsLostByAStop(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: strings.Replace(steadyAnd(t, ""), "share: tenant", "share: tenant, allow_server_requests: false", 1),
	})
	const calls = 40
	answers := make(chan string, calls)
	for range calls / 4 {
		c := dial(t, host.MCP+"/steady/mcp", "")
		for range 4 {
			go func() { // ends with its answer
				r, err := c.CallTool(context.Background(), &mcp.CallToolParams{
					Name: "sleep", Arguments: map[string]any{"millis": 2000},
				})
				if err != nil {
					answers <- err.Error()
					return
				}
				answers <- r.Content[0].(*mcp.TextContent).Text
			}()
		}
	}
	eventually(t, "every call to be under way", func() bool {
		return int(metric(t, host, "mcpd_requests_in_flight"))+len(answers) >= calls
	})
	start := time.Now()
	if code := host.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for range calls {
		if got := <-answers; got != "slept 2000 ms" {
			t.Errorf("got %q", got)
		}
	}
}
