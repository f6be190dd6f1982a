package chaos

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"mcpd/internal/mcptest"
)

// F15, F16, I1 to I3, I6, I7, I9, I13, S4-104: two tenants are under load, and one tenant's child
// process is killed. Only the calls that the process had received fail, with an error that says
// that they may have been executed. The next call succeeds, the other tenant is not affected, the
// tree shows one restart on one row, and the log shows the sequence of events.
func TestKillOfOneTenantsChildIsNoticedByItsOwnCallsOnly(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	other, _ := a.client(globex, nil)
	a.must(session, "files__echo", map[string]any{"message": "one"})
	a.must(other, "files__echo", map[string]any{"message": "one"})

	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 100)
	bystander.flows(globex, 100)
	slow := make(chan error, 1)
	go func() { // ends with its call
		_, err := a.call(session, "files__sleep", map[string]any{"millis": 60_000})
		slow <- err
	}()
	a.eventually("asleep", func() bool {
		return a.metric("mcpd_requests_in_flight", `tenant="acme"`) > 0 &&
			strings.Contains(a.ask("GET", "/metrics", ""), "tools/call")
	})

	before := a.rows()
	victim := before.connection(acme, "files")
	if victim.GetState() != "ready" || victim.GetPid() == 0 {
		t.Fatalf("row: %v", victim)
	}
	kill(t, victim.GetPid())
	lost(t, <-slow)
	a.eventually("ready again", func() bool {
		n := a.rows().connection(acme, "files")
		return n.GetState() == "ready" && n.GetPid() != victim.GetPid()
	})
	if got := a.must(session, "files__echo", map[string]any{"message": "two"}); got != "two" {
		t.Errorf("next call: got %q", got)
	}
	hit.flows(acme, 100)

	// The calls that the child had received are lost, at most one for each worker. The calls that
	// waited for the next instance are not lost.
	r := hit.end()
	if c := r.Counts; c.Failed > loadWorkers || c.Lost != 0 || c.Crosstalk != 0 || c.Duplicate != 0 {
		t.Errorf("acme: %+v, errors %v", c, r.Errors)
	}
	a.clean(globex, bystander.end())

	a.oneRestart(before, victim.GetPath())
	if got := a.rows().connection(globex, "files").GetPid(); got != before.connection(globex,
		"files").GetPid() {
		t.Errorf("globex: pid %d is another than before", got)
	}
	if got := len(children(a.PID())); got != 2 {
		t.Errorf("%d child processes, want one for each tenant", got)
	}
	a.story(victim.GetPath(), "upstream_ready", "upstream_exited", "child_crashed",
		"upstream_starting", "upstream_ready")
	if crashed := a.event(victim.GetPath(), "child_crashed"); crashed["level"] != "debug" {
		t.Errorf("%v tells at its level what upstream_exited has told", crashed)
	}
	if exited := a.event(victim.GetPath(), "upstream_exited"); exited["exit"] == nil ||
		exited["stderr"] != "testserver: ready" || exited["in_flight"] == nil {
		t.Errorf("event: %v, want how it ended, what it had written last, and what it had in hand",
			exited)
	}
}

// kill ends a child process as the kernel's out-of-memory killer would.
func kill(t *testing.T, pid uint32) {
	t.Helper()
	if err := syscall.Kill(int(pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// lost checks the error of a call whose server died during the call.
func lost(t *testing.T, err error) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		t.Errorf("call in flight: got %v", err)
		return
	}
	var data struct {
		Reason, Server string
		MaybeExecuted  bool
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || e.Code != -32008 || !data.MaybeExecuted ||
		data.Server != "files" {
		t.Errorf("call in flight: got %d %s %s, want -32008 that says it may have been executed", e.Code,
			e.Message, e.Data)
	}
}

// oneRestart checks, with the operator's command, that one row was restarted once and that no other
// row was.
func (a *arena) oneRestart(before rows, path string) {
	a.t.Helper()
	command := exec.Command(mcptest.Mcpd(a.t), "tree", "--json", "--all", "--admin",
		strings.TrimPrefix(a.Admin, "http://"))
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home)
	text, err := command.Output()
	if err != nil {
		a.t.Fatalf("mcpd tree: %v", err)
	}
	if got := parseTree(a, string(text)).restarted(before); len(got) != 1 || got[path] != 1 {
		a.t.Errorf("restarted: %v, want %s once and nothing else", got, path)
	}
}

// events returns the log's lines about a row, oldest first.
func (a *arena) events(path string) (list []map[string]any) {
	a.t.Helper()
	for line := range strings.Lines(a.Log()) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil && e["path"] == path {
			list = append(list, e)
		}
	}
	return list
}

// ofKind returns the events with a name.
func (a *arena) ofKind(name string) (list []map[string]any) {
	a.t.Helper()
	for line := range strings.Lines(a.Log()) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil && e["event"] == name {
			list = append(list, e)
		}
	}
	return list
}

// event returns the last event with a name about a row.
func (a *arena) event(path, name string) map[string]any {
	a.t.Helper()
	for _, e := range slices.Backward(a.events(path)) {
		if e["event"] == name {
			return e
		}
	}
	a.t.Errorf("no event %s about %s", name, path)
	return nil
}

// story checks that the log has these events about a row in this order, possibly with others
// between them.
func (a *arena) story(path string, names ...string) {
	a.t.Helper()
	var told []string
	rest := names
	for _, e := range a.events(path) {
		name, _ := e["event"].(string)
		told = append(told, name)
		if len(rest) > 0 && name == rest[0] {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		a.t.Errorf("the log tells %v of %s, want %v in this order", told, path, names)
	}
}
