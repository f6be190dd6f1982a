package resilience

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// Published servers that a launcher starts. The server is a grandchild of the host.
const (
	everything = "@modelcontextprotocol/server-everything"
	filesystem = "@modelcontextprotocol/server-filesystem"
)

// launchedInFlight is the number of calls in flight at a launched server when it is killed.
const launchedInFlight = 20

// templateClient is a client of a tool whose answer has more than its argument.
type templateClient struct {
	*load.Session
	tool, argument string // the call; argument has one %s
	before         string // the beginning of the answer
}

func (w templateClient) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	text, err := w.Ask(ctx, "tools/call",
		fmt.Sprintf(`{"name":%q,"arguments":%s}`, w.tool, fmt.Sprintf(w.argument, nonce)))
	return load.Nonce(strings.TrimPrefix(text, w.before)), err
}

// launcher returns the environment of npx, which prefers the packages in this machine's cache.
func launcher(t *testing.T) (env []string) {
	t.Helper()
	if _, err := exec.LookPath("npx"); err != nil {
		t.Skip("needs npx")
	}
	cache, err := exec.Command("npm", "config", "get", "cache").Output()
	if err != nil {
		t.Skipf("npm has no cache: %v", err)
	}
	return []string{
		"npm_config_cache=" + strings.TrimSpace(string(cache)), "npm_config_prefer_offline=true",
		"npm_config_update_notifier=false",
	}
}

// bareLaunched is bareStart for a launched server.
func bareLaunched(env []string) (time.Duration, error) {
	command := exec.Command("npx", "-y", everything)
	command.Env = append(os.Environ(), env...)
	return bareStart(command,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"message":"bare"}}}`)
}

// launched returns the processes of one of the host's servers, and those of them whose command
// line begins with begin.
func (h *host) launched(server, begin string) (all, such []int) {
	h.t.Helper()
	for _, pid := range h.Processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		if err != nil || !strings.Contains(words, filepath.Base(server)) {
			continue
		}
		all = append(all, pid)
		if strings.HasPrefix(words, begin) {
			such = append(such, pid)
		}
	}
	return all, such
}

// Servers behind npx are killed, worker and launcher in turns. The configuration of one of them
// changes. The host is killed and stopped. Nothing of the servers is left behind, and clients go
// on.
func launchers(t *testing.T, r *table) {
	env := launcher(t)
	if took, err := bareLaunched(env); err != nil {
		t.Skipf("npx -y %s, after %v: %v", everything, took, err)
	}
	h := prepare(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	declared := func(dir string) {
		var variables []string
		for _, entry := range env {
			name, value, _ := strings.Cut(entry, "=")
			variables = append(variables, fmt.Sprintf("%s: %q", name, value))
		}
		with := "env: {" + strings.Join(variables, ", ") + "}"
		h.configure(fmt.Sprintf("tenants: {default: {servers: {every: %s, files: %s}}}",
			declare(fmt.Sprintf("command: npx, args: [-y, %q]", everything), with),
			declare(fmt.Sprintf("command: npx, args: [-y, %q, %q]", filesystem, dir), with)))
	}
	declared(dirs[0])
	h.launch(mcptest.HostOptions{})
	every := func(s *load.Session) load.Client {
		return templateClient{s, "echo", `{"message":"%s"}`, "Echo: "}
	}
	files := func(s *load.Session, dir string) load.Client {
		return templateClient{
			s, "create_directory", `{"path":"` + dir + `/%s"}`,
			"Successfully created directory " + dir + "/",
		}
	}
	open := func(n int) (all []*load.Session) {
		return append(h.open(n, "/every/mcp", load.SessionOptions{}),
			h.open(1, "/files/mcp", load.SessionOptions{})...)
	}
	s := open(1)
	h.next("first", every(s[0]))
	h.next("first", files(s[1], dirs[0]))
	closeSessions(t, s)
	before := h.holdingAtRest()

	var bare, next, told []time.Duration
	for round := range fullOrShort(10, 2) {
		s := open(1)
		victim := []string{"npm exec", "node "}[round%2]
		h.next(fmt.Sprintf("round-%d", round), every(s[0]))
		old, victims := h.launched(everything, victim)
		if len(victims) != 1 {
			t.Fatalf("%d processes are %q", len(victims), victim)
		}
		o := &outcomeRecorder{
			Client: templateClient{
				s[0], "trigger-long-running-operation", `{"duration":600,"steps":1,"note":"%s"}`, "",
			},
		}
		ended := h.run(o, uint64(round+1), launchedInFlight)
		eventually(t, "in its hand", func() bool {
			return h.metric("mcpd_requests_in_flight{") >= launchedInFlight
		})
		time.Sleep(100 * time.Millisecond) // the calls are written meanwhile
		at := time.Now()
		if err := syscall.Kill(victims[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if result := <-ended; result.Counts != (load.Counts{Sent: launchedInFlight,
			Failed: launchedInFlight}) {
			t.Errorf("calls in hand: %+v, errors %v; want one error each", result.Counts, result.Errors)
		}
		for _, err := range o.errs {
			if !maybeExecuted(err) {
				t.Errorf("call in hand: %v, want one that says that it may have been executed", err)
			}
		}
		// The host sees the end of the launcher at once. The end of a worker is first seen by the
		// launcher.
		if victim == "npm exec" {
			told = append(told, o.last.Sub(at))
		}
		h.next(fmt.Sprintf("again-%d", round), every(s[0]))
		next = append(next, time.Since(at))
		b, err := bareLaunched(env)
		if err != nil {
			t.Fatal(err)
		}
		bare = append(bare, b)
		eventually(t, "without what was killed", func() bool {
			now, _ := h.launched(everything, "")
			return !slices.ContainsFunc(old, func(pid int) bool { return slices.Contains(now, pid) })
		})
		closeSessions(t, s)
		h.timeToBaseline(before)
	}

	// The configuration of a server changes and changes back.
	for round := range fullOrShort(4, 2) {
		s := open(1)
		_, worker := h.launched(everything, "node ")
		dir := dirs[(round+1)%2]
		declared(dir)
		if err := h.reload(); err != nil {
			t.Fatal(err)
		}
		h.next(fmt.Sprintf("reloaded-%d", round), files(s[1], dir))
		if _, now := h.launched(everything, "node "); !slices.Equal(now, worker) {
			t.Errorf("the worker of a server that stays was %v and is %v", worker, now)
		}
		closeSessions(t, s)
		h.timeToBaseline(before)
	}

	// The host is killed and stopped, in turns.
	var gone, stopped []time.Duration
	for round := range fullOrShort(6, 2) {
		s := open(50)
		var crowd []load.Client
		for _, one := range s[:len(s)-1] {
			crowd = append(crowd, every(one))
		}
		ctx, stop := context.WithCancel(t.Context())
		o := options(uint64(1000+round), 8, 1<<20)
		o.Rate = 100
		ended := make(chan load.Result, 1)
		go func() { // ends when it is stopped; awaited below
			result, err := load.Run(ctx, crowd, o)
			if err != nil {
				panic(err) // a mistake in the options
			}
			ended <- result
		}()
		h.next(fmt.Sprintf("before-%d", round), crowd[0])
		at := time.Now()
		if round%2 == 0 {
			h.Kill()
			eventually(t, "without a process of the host that was killed", func() bool {
				return len(h.Processes()) == 0
			})
			gone = append(gone, time.Since(at))
		} else {
			if code := h.Stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			stopped = append(stopped, time.Since(at))
			if remaining := h.Processes(); len(remaining) > 0 {
				t.Errorf("%v are left of the host that was stopped", remaining)
			}
		}
		stop()
		if c := (<-ended).Counts; c.Lost+c.Crosstalk+c.Duplicate > 0 {
			t.Errorf("load: %+v", c)
		}
		h = h.restart()
		for i, one := range crowd {
			h.next(fmt.Sprintf("after-%d-%d", round, i), one)
		}
		closeSessions(t, s)
	}
	r.times(fmt.Sprintf("npx killed: last of %d calls in its server's hand answered after",
		launchedInFlight),
		told, answerGoal)
	r.addShare(t, "npx or its server killed: next call answered after", bare, next)
	r.times("host killed: no process of npx is left after", gone, orphansGoal)
	r.times("host with npx told to stop under load: gone after", stopped, drainGoal)
}
