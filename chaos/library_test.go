package chaos

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/chaos/experiment"
	"mcpd/chaos/record"
	"mcpd/internal/mcptest"
)

// form selects what of the library is run: nothing, since it takes minutes; twelve experiments in short phases; or all in full.
var form = flag.String("form", "", "run experiments of the library: short or full")

// twelve are the experiments of the short form: actors of most kinds, a tenant whose every request is
// a crash, processes of servers, the configuration and clients.
var twelve = []string{
	"panic-request-manager", "panic-session", "panic-catalog", "panic-connection", "poison-tenant", "panic-core", "hang-request-manager",
	"kill-busy-child", "crash-loop-child", "reload-storm", "noisy-tenant", "churn",
}

const (
	// enough are the calls of bystanders in the short form: of so many without a failure, the rate of failures is below 3 in 100,000 with
	// 95 % confidence.
	enough = 100_000
	// part is how long the full form goes on at a time. Its next part goes on where this one ended.
	part = "45m"
)

// The experiments of the library hold on a host of their own. The command does it all, as for everybody; its table and its pages are in results.
func TestLibrary(t *testing.T) {
	if *form == "" {
		t.Skip("it takes minutes: make chaos and make chaos-full run it")
	}
	names, flags := twelve, []string{"--short"}
	dir, err := filepath.Abs(filepath.Join("results", *form))
	if err != nil {
		t.Fatal(err)
	}
	if *form == "full" {
		names, flags = nil, []string{"--resume", "--within", part}
		for _, e := range experiment.Library() {
			names = append(names, e.Name)
		}
	} else if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	a, start := openLibrary(t)
	args := append([]string{"chaos", "run", "--start", start, "--admin", strings.TrimPrefix(a.Admin, "http://"), "--key", acme + "=env:ACME", "--report", dir}, flags...)
	cmd := exec.CommandContext(t.Context(), mcptest.Mcpd(t), append(args, names...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home, "ACME="+key(acme))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("mcpd chaos run: %v; see %s", err, filepath.Join(dir, "report.html"))
	}
	n, down := results(t, dir)
	if *form == "short" && down == 0 {
		t.Error("nobody measured for how long a killed server was gone")
	}
	if *form == "short" && n < enough {
		t.Errorf("bystanders made %d calls, want %d: the load could not be kept up", n, enough)
	}
}

// openLibrary starts a host that is as the arena is, but for its ports and a key, and says how it is started again.
func openLibrary(t *testing.T) (a *trial, start string) {
	t.Helper()
	program, state := mcptest.Mcpd(t), t.TempDir()
	server := func(name string) string {
		return fmt.Sprintf("demo: {command: %q, args: [chaos, server, --state, %q]}", program, filepath.Join(state, name))
	}
	config := "limits: {call_timeout: 5s, start_timeout: 5s, memory: 512MiB, max_sessions: 400}\ntenants:\n" + tenant(acme, server(acme))
	for _, name := range []string{globex, "initech"} {
		config += fmt.Sprintf("  %s: {servers: {%s}}\n", name, server(name))
	}
	config += fmt.Sprintf("  umbrella: {servers: {demo: {url: %q}}}\n", site(t, program, filepath.Join(state, "umbrella")))
	return openOwned(t, config)
}

// site starts a server behind a URL, and returns that.
func site(t *testing.T, program, state string) string {
	t.Helper()
	cmd := exec.Command(program, "chaos", "server", "--http", "127.0.0.1:0", "--with-input", "--state", state)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server behind a URL: %v", err)
		}
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// results counts the calls of bystanders in the records of a folder, and how often it was measured for how long a server was gone.
func results(t *testing.T, dir string) (calls uint64, down int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list, err := record.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, r := range list {
			for _, g := range r.Groups {
				if g.Role != record.Bystander {
					continue
				}
				for _, c := range g.Phases {
					calls += c.Sent
				}
			}
			for _, f := range r.Figures {
				if f.Name == "down_ms" {
					down += len(f.Samples)
				}
			}
		}
	}
	return calls, down
}
