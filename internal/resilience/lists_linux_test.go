package resilience

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// Of ten servers, one never answers and one does not exist. They delay the first list, but not
// beyond the allowed wait. The next host serves all lists at once although none of its servers
// can start. It starts a server when that server is called.
func TestListsOutliveTheHost(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	config := "limits: {list_wait: 3s}\ntenants: {default: {servers: {"
	for i := range 8 {
		config += fmt.Sprintf(
			"good-%d: {command: sh, args: [-c, 'while [ ! -e \"$0\" ]; do sleep 0.02; done; exec \"$1\"', "+
				"%q, %q]}, ", i, open, mcptest.Server(t),
		)
	}
	config += fmt.Sprintf(
		"silent: {command: %q, args: [-silent]}, missing: {command: no-such-program}}}}\n",
		mcptest.Server(t),
	)

	tools := func(h *mcptest.Host) (s *mcp.ClientSession, of map[string]int, took time.Duration) {
		t.Helper()
		begin := time.Now()
		s = mcptest.Connect(t, h.MCP+"/mcp", "", nil)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		took, of = time.Since(begin), map[string]int{}
		for _, tool := range list.Tools {
			server, _, _ := strings.Cut(tool.Name, "__")
			of[server]++
		}
		return s, of, took
	}
	touch(t, open)
	h := mcptest.Start(t, mcptest.HostOptions{Config: config})
	_, of, took := tools(h)
	t.Logf("the first lists after %s: %v", took, of)
	if len(of) != 8 || of["good-7"] == 0 {
		t.Errorf("the first lists are of %v", of)
	}
	if _, _, took := tools(h); took > 3*time.Second {
		t.Errorf("the next waited %s", took)
	}
	h.Kill()

	if err := os.Remove(open); err != nil {
		t.Fatal(err)
	}
	h = mcptest.Start(t, mcptest.HostOptions{Config: config, State: h.State})
	s, again, took := tools(h)
	if took >= 5*time.Second { // the first list took at least as long
		t.Errorf("the lists of the next host took %s: somebody was waited for", took)
	}
	if fmt.Sprint(again) != fmt.Sprint(of) ||
		!strings.Contains(fmt.Sprint(s.InitializeResult().Capabilities.Tools), "true") {
		t.Errorf("the next host lists %v, not %v", again, of)
	}
	if tree := treeOf(t, h); strings.Count(tree, `"stale":true`) != 8 ||
		strings.Contains(tree, `"state":"ready"`) {
		t.Errorf("the tree says %s", tree)
	}
	touch(t, open)
	if r, err := s.CallTool(t.Context(),
		&mcp.CallToolParams{Name: "good-3__echo",
			Arguments: map[string]any{"message": "hello"}}); err != nil || r.IsError {
		t.Errorf("a call: %+v, %v", r, err)
	}
	// The second process is the silent server, which was never listed.
	if tree := treeOf(t, h); strings.Count(tree, `"stale":true`) != 7 ||
		strings.Count(tree, `"pid":`) != 2 {
		t.Errorf("after a call the tree says %s", tree)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// treeOf returns the tree of a host as JSON.
func treeOf(t *testing.T, h *mcptest.Host) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		h.Admin+"/admin/v1/tree?all=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := ask(r)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// An eager server runs before any client asks for it. A server that nothing needs stops while its
// session goes on. It stays in the lists and starts again for the next call.
func TestServersRunAsTheyAreNeeded(t *testing.T) {
	h := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {eager: {command: %[1]q, start: eager}, sleepy: {command: %[1]q, "+
			"idle_stop: 200ms}, inside: {builtin: demo}}}}\n", mcptest.Server(t))})
	is := func(server, state string) func() bool {
		row := regexp.MustCompile(`"state":"` + state + `"[^{}]*"server":"` + server + `"`)
		return func() bool { return row.MatchString(treeOf(t, h)) }
	}
	eventually(t, "eager", is("eager", "ready"))
	if !is("sleepy", "idle")() {
		t.Errorf("before anybody asked: %s", treeOf(t, h))
	}
	if tree := treeOf(t, h); strings.Count(tree, `"link":"stdio"`) != 2 ||
		strings.Count(tree, `"link":"builtin"`) != 1 {
		t.Errorf("how they are reached: %s", tree)
	}
	s := mcptest.Connect(t, h.MCP+"/mcp", "", nil)
	for range 3 {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "sleepy__echo", Arguments: map[string]any{"message": "hello"},
		})
		if err != nil || r.IsError {
			t.Fatalf("a call: %+v, %v", r, err)
		}
		eventually(t, "asleep", is("sleepy", "stopped"))
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool {
			return tool.Name == "sleepy__echo"
		}) {
			t.Errorf("lists of a server that sleeps: %v", err)
		}
	}
	if !is("eager", "ready")() {
		t.Errorf("in the end: %s", treeOf(t, h))
	}
}
