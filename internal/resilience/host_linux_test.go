package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/load"
	"mcpd/internal/mcptest"
	"mcpd/telemetry/admin"
)

// Commands that start the test's own server. The verb stands for the path of the test binary.
const (
	plainCommand = `command: %q`
	// leavesProcess also starts a process that leaves the process group and would outlive the server.
	leavesProcess = `command: sh, args: [-c, '(setsid sleep 600 </dev/null >/dev/null 2>&1 &); exec "$0"', %q]`
)

// host is a running mcpd. A test may kill it and start it again any number of times.
type host struct {
	*mcptest.Host
	t       *testing.T
	effects string // the file to which the test's own server writes
	runtime string // the folder of the admin tokens
	file    string // the configuration file
}

// prepare returns a host that has not been started and has no configuration.
func prepare(t *testing.T) *host {
	dir := t.TempDir()
	return &host{
		t: t, effects: filepath.Join(dir, "effects"), runtime: t.TempDir(),
		file: filepath.Join(dir, "mcpd.yaml"),
	}
}

// start starts a host with one tenant, whose one server is the test's own.
func start(t *testing.T, program string) *host {
	t.Helper()
	return startWith(t, "", program)
}

// startWith is start with additional settings at the top of the configuration.
func startWith(t *testing.T, top, program string) *host {
	t.Helper()
	h := prepare(t)
	h.configure(top + "tenants: {default: {servers: {small: " + h.smallServer(program) + "}}}")
	return h.launch(mcptest.HostOptions{})
}

// smallServer returns the configuration of the test's own server.
func (h *host) smallServer(program string, more ...string) string {
	h.t.Helper()
	path, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	var env []string
	for _, entry := range environment(h.effects) {
		name, value, _ := strings.Cut(entry, "=")
		env = append(env, fmt.Sprintf("%s: %q", name, value))
	}
	return declare(fmt.Sprintf(program, path), append(more, "env: {"+strings.Join(env, ", ")+"}")...)
}

// declare returns the configuration of a server that all sessions share and that may be killed
// any number of times.
func declare(program string, more ...string) string {
	return "{" + strings.Join(append(more, program,
		"share: tenant, intensity: {restarts: 1000, within: 1ms}"), ", ") + "}"
}

// configure replaces the configuration file atomically.
func (h *host) configure(text string) {
	h.t.Helper()
	if err := errors.Join(os.WriteFile(h.file+".new", []byte(text+"\n"), 0o600),
		os.Rename(h.file+".new", h.file)); err != nil {
		h.t.Fatal(err)
	}
}

// restart starts the host again after it has ended, with its state, its address and its
// configuration.
func (h *host) restart() *host {
	h.t.Helper()
	next := *h
	return next.launch(mcptest.HostOptions{
		State: h.State, Args: []string{"--listen", strings.TrimPrefix(h.MCP, "http://")},
	})
}

func (h *host) launch(o mcptest.HostOptions) *host {
	h.t.Helper()
	o.Args = append(o.Args, "--chaos", "--config", h.file)
	o.Env = []string{"XDG_RUNTIME_DIR=" + h.runtime}
	h.Host = mcptest.Start(h.t, o)
	return h
}

// sessions opens n sessions that call a tool of the test's own server.
func (h *host) sessions(n int, tool string) []*load.Session {
	h.t.Helper()
	return h.open(n, "/small/mcp", load.SessionOptions{Tool: tool, Argument: "text"})
}

// open opens n sessions with an endpoint.
func (h *host) open(n int, path string, o load.SessionOptions) []*load.Session {
	h.t.Helper()
	o.URL = h.MCP + path
	opened := make([]*load.Session, n)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, 32) { // concurrently, as many as a busy machine still serves
		all.Go(func() {
			for i := range next {
				s, err := load.Connect(h.t.Context(), o)
				if err != nil {
					h.t.Error(err)
				}
				opened[i] = s
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	if h.t.Failed() {
		h.t.FailNow()
	}
	return opened
}

// clients returns sessions as the clients of a run.
func clients(sessions []*load.Session) []load.Client {
	all := make([]load.Client, len(sessions))
	for i, s := range sessions {
		all[i] = s
	}
	return all
}

// closeSessions closes sessions and their connections.
func closeSessions(t *testing.T, sessions []*load.Session) {
	t.Helper()
	for _, s := range sessions {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// subscribe subscribes a session to the resource that the tool tell changes.
func subscribe(t *testing.T, s *load.Session) {
	t.Helper()
	if _, err := s.Ask(t.Context(), "resources/subscribe", `{"uri":"`+watched+`"}`); err != nil {
		t.Fatal(err)
	}
}

// options returns the options of a run that ends after its calls.
func options(run uint64, workers, calls int) load.Options {
	return load.Options{
		Clock: clock.System, Run: run, Workers: workers, Calls: calls, For: 5 * time.Minute,
		Timeout: patience,
	}
}

// injectPanic makes the next message of a kind crash the actor at a path.
func (h *host) injectPanic(path, kind string) error {
	_, err := h.admin(http.MethodPost, "/admin/v1/faults", admin.Chaos,
		fmt.Sprintf(`{"action":"panic","path":%q,"kind":%q,"count":1,"lease":"60s"}`, path, kind))
	return err
}

// reload makes the host read its configuration again.
func (h *host) reload() error {
	_, err := h.admin(http.MethodPost, "/admin/v1/reload", admin.Write, "")
	return err
}

// admin makes a request to the admin listener and returns the body of the response.
func (h *host) admin(method, path string, scope admin.Scope, body string) (string, error) {
	token, err := admin.ReadToken(filepath.Join(h.runtime, "mcpd"),
		strings.TrimPrefix(h.Admin, "http://"), scope)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.Admin+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return ask(r)
}

// ask makes one request over a connection of its own. The connection is closed afterwards, so it
// is not counted as held.
func ask(r *http.Request) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		return "", fmt.Errorf("%s: %d %s, %v", r.URL, answer.StatusCode, text, err)
	}
	return string(text), nil
}

// eventually waits until ok returns true. It fails the test after patience.
func eventually(t *testing.T, label string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", patience, label)
		}
	}
}
