package chaos

import (
	"bufio"
	"bytes"
	"cmp"
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

// form selects what of the library is run: nothing, since it takes minutes; some experiments in short phases; or all in
// full.
var form = flag.String("form", "", "run experiments of the library: short or full")

// A libraryHost is a host that experiments of the library are run on.
type libraryHost struct {
	name   string // below the folder of results; empty is that folder itself
	limits string // its own
	// short are the experiments of the short form. Those of the full form are only, or what other hosts leave.
	short, only []string
}

// libraryHosts are one for most experiments, and one that has little of what runs out.
var libraryHosts = []libraryHost{
	{
		limits: "memory: 512MiB, max_sessions: 400",
		// Actors of most kinds, a tenant whose every request is a crash, processes of servers, the configuration and clients.
		short: []string{
			"panic-request-manager", "panic-session", "panic-catalog", "panic-connection", "poison-tenant", "panic-core", "hang-request-manager",
			"kill-busy-child", "crash-loop-child", "reload-storm", "noisy-tenant", "churn",
		},
	},
	{
		// Half of 240 sessions is guaranteed to four tenants, so one of them can have 150.
		name: "small", limits: "memory: 256MiB, max_sessions: 400, max_total_sessions: 240",
		short: []string{"hoarded-headers", "total-session-cap"},
		only:  []string{"hoarded-headers", "total-session-cap"},
	},
}

// full are the experiments that a host is for in the full form.
func (h libraryHost) full() (names []string) {
	if len(h.only) > 0 {
		return h.only
	}
	others := map[string]bool{}
	for _, other := range libraryHosts {
		for _, name := range other.only {
			others[name] = true
		}
	}
	for _, e := range experiment.Library() {
		if !others[e.Name] {
			names = append(names, e.Name)
		}
	}
	return names
}

const (
	// enough are the calls of bystanders in the short form: of so many without a failure, the rate of failures is below 3 in 100,000 with
	// 95 % confidence.
	enough = 100_000
	// part is how long the full form goes on at a time. Its next part goes on where this one ended.
	part = "45m"
)

// Each experiment of the library is for one host in the full form.
func TestEachExperimentHasOneHost(t *testing.T) {
	hosts := map[string]int{}
	for _, h := range libraryHosts {
		for _, name := range h.full() {
			hosts[name]++
		}
	}
	for _, e := range experiment.Library() {
		if hosts[e.Name] != 1 {
			t.Errorf("%s is run on %d hosts", e.Name, hosts[e.Name])
		}
		delete(hosts, e.Name)
	}
	if len(hosts) > 0 {
		t.Errorf("there are no experiments %v", hosts)
	}
}

// The experiments of the library hold on hosts of their own. The command does it all, as for everybody; its tables and its pages are in results.
func TestLibrary(t *testing.T) {
	if *form == "" {
		t.Skip("it takes minutes: make chaos and make chaos-full run it")
	}
	dir, err := filepath.Abs(filepath.Join("results", *form))
	if err != nil {
		t.Fatal(err)
	}
	if *form == "short" {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	var calls uint64
	var down int
	for _, h := range libraryHosts {
		t.Run(cmp.Or(h.name, "usual"), func(t *testing.T) {
			n, d := h.run(t, filepath.Join(dir, h.name))
			calls, down = calls+n, down+d
		})
	}
	if *form == "short" && down == 0 {
		t.Error("nobody measured for how long a killed server was gone")
	}
	if *form == "short" && calls < enough {
		t.Errorf("bystanders made %d calls, want %d: the load could not be kept up", calls, enough)
	}
}

// run runs the experiments of a host, and counts as results does.
func (h libraryHost) run(t *testing.T, dir string) (calls uint64, down int) {
	t.Helper()
	names, flags := h.short, []string{"--short"}
	if *form == "full" {
		names, flags = h.full(), []string{"--resume", "--within", part}
	}
	a, start := openLibrary(t, h.limits)
	args := append([]string{"chaos", "run", "--start", start, "--admin", strings.TrimPrefix(a.Admin, "http://"), "--key", acme + "=env:ACME", "--report", dir}, flags...)
	cmd := exec.CommandContext(t.Context(), mcptest.Mcpd(t), append(args, names...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home, "ACME="+key(acme))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("mcpd chaos run: %v; see %s", err, filepath.Join(dir, "report.html"))
	}
	return results(t, dir)
}

// openLibrary starts a host that is as the arena is, but for its ports, a key and limits of its own, and says how it is
// started again.
func openLibrary(t *testing.T, limits string) (a *trial, start string) {
	t.Helper()
	program, state := mcptest.Mcpd(t), t.TempDir()
	server := func(name string) string {
		return fmt.Sprintf("demo: {command: %q, args: [chaos, server, --state, %q]}", program, filepath.Join(state, name))
	}
	config := "limits: {call_timeout: 5s, start_timeout: 5s, drain: 8s, " + limits + "}\ntenants:\n" + tenant(acme, server(acme))
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
