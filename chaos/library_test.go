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

// form selects which experiments of the library are run: none, since they take minutes; some
// experiments in their short form; or all in full.
var form = flag.String("form", "", "run experiments of the library: short or full")

// libraryHost is a host on which experiments of the library are run.
type libraryHost struct {
	name   string // folder below the results; empty is the results themselves
	limits string // its own limits
	// short are the experiments of the short form, and only those of the full form. If only is empty,
	// the full form runs every experiment that is not in the only of another host.
	short, only []string
}

// libraryHosts are a host for most experiments, and a host with low limits.
var libraryHosts = []libraryHost{
	{
		limits: "memory: 512MiB, max_sessions: 400",
		// Actors of most kinds, a tenant whose every request is a crash, processes of servers, the
		// configuration and clients.
		short: []string{
			"panic-request-manager", "panic-session", "panic-catalog", "panic-connection", "poison-tenant",
			"panic-core", "hang-request-manager",
			"kill-busy-child", "crash-loop-child", "reload-storm", "noisy-tenant", "churn",
		},
	},
	{
		// Half of 240 sessions are guaranteed to four tenants, so that one tenant can have 150.
		name: "small", limits: "memory: 256MiB, max_sessions: 400, max_total_sessions: 240",
		short: []string{"hoarded-headers", "total-session-cap"},
		only:  []string{"hoarded-headers", "total-session-cap"},
	},
}

// full returns the host's experiments in the full form.
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
	// enough is the number of calls of bystanders in the short form. Of so many calls without a
	// failure, the rate of failures is below 3 in 100,000 with 95 % confidence.
	enough = 100_000
	// part is the length of one part of the full form. The next part continues where this one ended.
	part = "45m"
)

// In the full form each experiment of the library belongs to one host.
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

// The experiments of the library hold on hosts of their own. The test uses the command as any user
// would. Its tables and pages are in results.
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

// run runs the experiments of a host, and returns the numbers that results returns.
func (h libraryHost) run(t *testing.T, dir string) (calls uint64, down int) {
	t.Helper()
	names, flags := h.short, []string{"--short"}
	if *form == "full" {
		names, flags = h.full(), []string{"--resume", "--within", part}
	}
	a, start := openLibrary(t, h.limits)
	args := append([]string{"chaos", "run", "--start", start, "--admin",
		strings.TrimPrefix(a.Admin, "http://"), "--key", acme + "=env:ACME", "--report", dir}, flags...)
	cmd := exec.CommandContext(t.Context(), mcptest.Mcpd(t), append(args, names...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home, "ACME="+key(acme))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("mcpd chaos run: %v; see %s", err, filepath.Join(dir, "report.html"))
	}
	return results(t, dir)
}

// openLibrary starts a host like the arena's, but with fixed ports, one key, and its own limits. It
// returns the command that starts the host again.
func openLibrary(t *testing.T, limits string) (a *trial, start string) {
	t.Helper()
	program, state := mcptest.Mcpd(t), t.TempDir()
	server := func(name string) string {
		return fmt.Sprintf("demo: {command: %q, args: [chaos, server, --state, %q]}", program,
			filepath.Join(state, name))
	}
	config := "limits: {call_timeout: 5s, start_timeout: 5s, drain: 8s, " + limits + "}\ntenants:\n" +
		tenant(acme, server(acme))
	for _, name := range []string{globex, "initech"} {
		config += fmt.Sprintf("  %s: {servers: {%s}}\n", name, server(name))
	}
	config += fmt.Sprintf("  umbrella: {servers: {demo: {url: %q}}}\n",
		site(t, program, filepath.Join(state, "umbrella")))
	return openOwned(t, config)
}

// site starts a server behind a URL, and returns the URL.
func site(t *testing.T, program, state string) string {
	t.Helper()
	cmd := exec.Command(program, "chaos", "server", "--http", "127.0.0.1:0", "--with-input",
		"--state", state)
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

// results counts the calls of bystanders in the records of a folder, and the measured outages of
// servers.
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
