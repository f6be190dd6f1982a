package resilience

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// rawTaskClient is a client that writes its own requests. It uses 2025-11-25 with a session and
// 2026-07-28 without one.
type rawTaskClient struct {
	url, session string
	id           int
}

var errNoAnswer = errors.New("no answer")

// ask makes a request. The params come without their braces.
func (w *rawTaskClient) ask(t *testing.T, method, params string) (result jsontext.Value,
	err error) {
	t.Helper()
	w.id++
	fields := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	}
	if w.session == "" && method != "initialize" {
		name, _ := jsonedit.GetString(jsontext.Value("{"+params+"}"), "name")
		if name == "" {
			name, _ = jsonedit.GetString(jsontext.Value("{"+params+"}"), "taskId")
		}
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		fields["Mcp-Protocol-Version"], fields["Mcp-Method"], fields["Mcp-Name"] = "2026-07-28",
			method, name
	}
	if w.session != "" {
		fields["Mcp-Session-Id"], fields["Mcp-Protocol-Version"] = w.session, "2025-11-25"
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, w.id, method, params)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range fields {
		r.Header.Set(name, value)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if method == "initialize" {
		w.session = answer.Header.Get("Mcp-Session-Id")
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		m, err := jsonrpc.Decode([]byte(strings.TrimSpace(strings.TrimPrefix(line, "data: "))),
			jsonrpc.Limits{Bytes: 1 << 20})
		switch {
		case err != nil || m.Method != "":
		case m.Error != nil:
			return nil, m.Error
		default:
			return m.Result, nil
		}
	}
	return nil, fmt.Errorf("%w: %d %s", errNoAnswer, answer.StatusCode, text)
}

// must is ask for requests that have to succeed.
func (w *rawTaskClient) must(t *testing.T, method, params string) jsontext.Value {
	t.Helper()
	result, err := w.ask(t, method, params)
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	return result
}

// startTask runs a tool as a task and returns the id of the task.
func (w *rawTaskClient) startTask(t *testing.T, tool, text string) (id string, err error) {
	t.Helper()
	result, err := w.ask(t, "tools/call",
		fmt.Sprintf(`"name":%q,"arguments":{"text":%q},"task":{"ttl":600000}`, tool, text))
	if err != nil {
		return "", err
	}
	if id, _ = jsonedit.GetString(result, "task", "taskId"); id == "" {
		id, _ = jsonedit.GetString(result, "taskId")
	}
	if id == "" {
		t.Errorf("no task is made of %s: %s", text, result)
	}
	return id, nil
}

// waitForStatus waits until a task has a status.
func (w *rawTaskClient) waitForStatus(t *testing.T, id, status string) (task jsontext.Value) {
	t.Helper()
	eventually(t, status, func() bool {
		task = w.must(t, "tasks/get", `"taskId":"`+id+`"`)
		is, _ := jsonedit.GetString(task, "status")
		return is == status
	})
	return task
}

// The host is killed while some tasks are done and others work, at a server that the host started
// and at a remote server. Afterwards every task that its client knows of is there again under its
// id. A done task has its outcome. A task that ended with the host has failed and says so. All
// other tasks go on. Nothing is done twice.
func hostKilledWithTasks(t *testing.T) {
	jobs := func() *host {
		h := prepare(t)
		h.effects = filepath.Join(filepath.Dir(h.effects), withJobs)
		return h
	}
	far := jobs()
	far.configure("tenants: {default: {servers: {small: " + far.smallServer(plainCommand) + "}}}")
	far.launch(mcptest.HostOptions{})
	h := jobs()
	h.configure(
		fmt.Sprintf("tenants: {default: {servers: {small: %s, far: {url: %q, share: tenant}}}}",
			h.smallServer(plainCommand), far.MCP+"/small/mcp"),
	)
	h.launch(mcptest.HostOptions{})

	legacy, modern := &rawTaskClient{url: h.MCP + "/mcp"}, &rawTaskClient{url: h.MCP + "/mcp"}
	legacy.must(t, "initialize",
		`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}`)
	ids := map[string]string{}
	all := func(f func(w *rawTaskClient, label, server, tool string)) {
		for era, w := range map[string]*rawTaskClient{"legacy": legacy, "modern": modern} {
			for _, server := range []string{"small", "far"} {
				for _, tool := range []string{note, hold} {
					f(w, era+"-"+server+"-"+tool, server, tool)
				}
			}
		}
	}
	all(func(w *rawTaskClient, label, server, tool string) {
		id, err := w.startTask(t, server+"__"+tool, label)
		if err != nil {
			t.Fatal(label, err)
		}
		if ids[label] = id; tool == note {
			w.waitForStatus(t, id, "completed")
		}
	})
	var promised []string
	made := make(chan struct{})
	go func() { // ends with the host, or at a principal's limit of tasks; awaited below
		defer close(made)
		w := *legacy
		for n := range 40 {
			id, err := w.startTask(t, "far__"+note, fmt.Sprintf("promised-%d", n))
			if err != nil {
				return
			}
			promised = append(promised, id)
		}
	}()
	eventually(t, "promised", func() bool { return len(effectsOf(t, far.effects)) > 6 })
	h.Kill()
	<-made
	h = h.restart()
	legacy.url, modern.url = h.MCP+"/mcp", h.MCP+"/mcp"

	list := string(legacy.must(t, "tasks/list", ""))
	for _, id := range promised {
		if !strings.Contains(list, id) {
			t.Errorf("a task that was promised is not there")
		}
	}
	check := func(w *rawTaskClient, label, tool string, done bool) {
		status := map[bool]string{true: "completed", false: "failed"}[done]
		task := w.waitForStatus(t, ids[label], status)
		if message, _ := jsonedit.GetString(task, "statusMessage"); !done && message == "" {
			t.Errorf("%s: %s", label, task)
		}
		outcome := string(task)
		if w == legacy {
			result, err := w.ask(t, "tasks/result", `"taskId":"`+ids[label]+`"`)
			var failure *jsonrpc.Error
			if outcome = string(result); errors.As(err, &failure) {
				outcome = string(failure.Data)
			}
		}
		if want := map[bool]string{true: `"text":"` + label + `"`,
			false: `"maybeExecuted":true`}[done]; !strings.Contains(outcome, want) {
			t.Errorf("%s: %s", label, outcome)
		}
	}
	all(func(w *rawTaskClient, label, server, tool string) {
		switch {
		case tool == note:
			check(w, label, tool, true)
		case server == "small":
			check(w, label, tool, false)
		default:
			w.waitForStatus(t, ids[label], "working")
		}
	})
	legacy.must(t, "tools/call", `"name":"far__free","arguments":{"text":"free-legacy"}`)
	// The modern client has a connection of its own to the server.
	modern.must(t, "tools/call", `"name":"far__free","arguments":{"text":"free-modern"}`)
	all(func(w *rawTaskClient, label, server, tool string) {
		if server == "far" && tool == hold {
			check(w, label, tool, true)
		}
	})
	checkOnce(t, h.effects)
	if seen := checkOnce(t, far.effects); len(seen) < len(promised)+5 {
		t.Errorf("%d were done, and %d promised", len(seen), len(promised))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, legacy.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", legacy.session)
	if _, err := ask(r); err != nil {
		t.Error(err)
	}
}
