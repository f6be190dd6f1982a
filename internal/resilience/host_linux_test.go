package resilience

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/load"
	"mcpd/internal/mcptest"
	"mcpd/telemetry/admin"
)

// The server as a configuration has it, with the path of the test binary left out.
const (
	alone = `command: %q`
	// stubborn leaves a process behind that has left its group and would outlive it.
	stubborn = `command: sh, args: [-c, '(setsid sleep 600 </dev/null >/dev/null 2>&1 &); exec "$0"', %q]`
)

// host is a running mcpd with one server for its one tenant, which may be killed as often as one likes.
type host struct {
	*mcptest.Host
	t       *testing.T
	program string // alone or stubborn
	effects string // the file of the server
	runtime string // the folder of the tokens
}

// start starts a host whose server is the program.
func start(t *testing.T, program string) *host {
	t.Helper()
	h := &host{t: t, program: program, effects: filepath.Join(t.TempDir(), "effects"), runtime: t.TempDir()}
	return h.launch(mcptest.HostOptions{})
}

// again is the host anew after it was killed, with its state, its address and its server's file.
func (h *host) again() *host {
	h.t.Helper()
	next := &host{t: h.t, program: h.program, effects: h.effects, runtime: h.runtime}
	return next.launch(mcptest.HostOptions{State: h.State, Args: []string{"--listen", strings.TrimPrefix(h.MCP, "http://")}})
}

func (h *host) launch(o mcptest.HostOptions) *host {
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
	o.Config = fmt.Sprintf("tenants: {default: {servers: {small: {"+h.program+", env: {%s}, share: tenant, intensity: {restarts: 1000, within: 1ms}}}}}\n",
		path, strings.Join(env, ", "))
	o.Args = append(o.Args, "--chaos")
	o.Env = []string{"XDG_RUNTIME_DIR=" + h.runtime}
	h.Host = mcptest.Start(h.t, o)
	return h
}

// sessions opens sessions that call a tool of the server.
func (h *host) sessions(n int, tool string) []*load.Session {
	h.t.Helper()
	opened := make([]*load.Session, n)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, 32) { // at once: a crowd that a busy machine still serves
		all.Go(func() {
			for i := range next {
				s, err := load.Connect(h.t.Context(), load.SessionOptions{URL: h.MCP + "/small/mcp", Tool: tool, Argument: "text"})
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

// leave closes sessions and their connections.
func leave(t *testing.T, sessions []*load.Session) {
	t.Helper()
	for _, s := range sessions {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// options are those of a run that ends after its calls.
func options(run uint64, workers, calls int) load.Options {
	return load.Options{Clock: clock.System, Run: run, Workers: workers, Calls: calls, For: 5 * time.Minute, Timeout: patience}
}

// panics makes the next message of a kind crash the actor at a path.
func (h *host) panics(path, kind string) error {
	token, err := admin.ReadToken(filepath.Join(h.runtime, "mcpd"), strings.TrimPrefix(h.Admin, "http://"), admin.Chaos)
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"action":"panic","path":%q,"kind":%q,"count":1,"lease":"60s"}`, path, kind)
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.Admin+"/admin/v1/faults", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	_, err = ask(r)
	return err
}

// ask makes one request over a connection of its own, which leaves nothing to be counted.
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

// event is a line of the log, as much of it as is looked at.
type event struct {
	Time  time.Time `json:"ts"`
	Event string    `json:"event"`
	Path  string    `json:"path"`
	PID   int       `json:"pid"`
}

// events are the log's events of a name, oldest first.
func (h *host) events(name string) (found []event) {
	h.t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(h.Log())); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == name {
			found = append(found, e)
		}
	}
	return found
}

// eventually waits until ok says so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", patience, what)
		}
	}
}

// holding is what a host holds.
type holding struct{ children, files, sessions int }

func (h *host) holds() holding {
	h.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.PID()))
	if err != nil {
		h.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.Admin+"/metrics", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := ask(r)
	if err != nil {
		h.t.Fatal(err)
	}
	now := holding{children: len(h.Processes()), files: len(files)}
	for line := range strings.Lines(text) {
		if sample, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(sample, "mcpd_sessions{") {
			n, err := strconv.Atoi(value)
			if err != nil {
				h.t.Fatalf("metric %s: %v", line, err)
			}
			now.sessions += n
		}
	}
	return now
}

// baseline is what the host holds when everything was used once and nobody is there: its server runs, there are no sessions.
func (h *host) baseline() holding {
	h.t.Helper()
	s := h.sessions(1, note)
	if _, err := s[0].Call(h.t.Context(), "baseline-"+load.Nonce(strconv.Itoa(h.PID()))); err != nil {
		h.t.Fatal(err)
	}
	leave(h.t, s)
	var now holding
	eventually(h.t, "at rest", func() bool {
		before := now
		time.Sleep(20 * time.Millisecond) // in which connections that were closed at the other end are let go of
		now = h.holds()
		return now == before && now.sessions == 0 && now.children > 0
	})
	return now
}

// settles says how long it takes until the host holds what it held before.
func (h *host) settles(before holding) time.Duration {
	h.t.Helper()
	start := time.Now()
	var now holding
	defer func() {
		if h.t.Failed() {
			h.t.Logf("before: %+v, now: %+v", before, now)
		}
	}()
	eventually(h.t, "back at what it held before", func() bool {
		now = h.holds()
		return now == before
	})
	return time.Since(start)
}
