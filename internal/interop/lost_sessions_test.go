package interop

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// forgetful is a server that can forget its sessions, as if it were deployed again.
type forgetful struct {
	*fixture
	now atomic.Pointer[mcp.StreamableHTTPHandler]
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.now.Load().ServeHTTP(w, r)
}

func (f *forgetful) forget() {
	f.now.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, nil))
}

// If a server forgets its sessions ten times in a row, the host opens a new session each time. No
// call fails, nothing is restarted, and clients still get the updates that they subscribed to.
func TestServerThatForgetsItsSessions(t *testing.T) {
	f := &forgetful{fixture: newFixture("web")}
	f.forget()
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {web: {url: %q}}}}\n", listen(t, f)),
	})
	c := dial(t, host.MCP+"/mcp", "")
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: f.uri("watched")}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for i := range 10 {
		f.forget()
		if got := c.call("web__echo", map[string]any{"text": fmt.Sprint(i)}); got != fmt.Sprint(i) {
			t.Errorf("call %d: %s", i, got)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("ten calls took %v", took)
	}
	for _, row := range restarts(t, host) {
		t.Errorf("restarted: %s", row)
	}
	c.call("web__touch", map[string]any{"text": f.uri("watched")})
	c.await("updated " + f.uri("watched"))
}

// restarts returns the rows of the tree that were restarted, beginning with the restart count in
// JSON.
func restarts(t *testing.T, host *mcptest.Host) (rows []string) {
	t.Helper()
	r := newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/tree?all=1", "")
	if r.status != http.StatusOK {
		t.Fatalf("tree: %d %s", r.status, r.body)
	}
	for _, part := range strings.Split(string(r.body), `"restarts":`)[1:] {
		if !strings.HasPrefix(part, "0") {
			rows = append(rows, `"restarts":`+part[:min(len(part), 200)])
		}
	}
	return rows
}

// If no server answers at the URL, the error of the call names the host and the cause, and so does
// the tree.
func TestServerThatCannotBeReachedIsExplained(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: `tenants: {default: {servers: {dead: {url: "http://127.0.0.1:1/mcp?key=hidden"}}}}` +
			"\n",
	})
	c := dial(t, host.MCP+"/mcp", "")
	tree := func() string {
		return string(newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/tree?all=1", "").body)
	}
	given := ""
	for late := time.Now().Add(patience); !strings.Contains(given,
		"backoff"); time.Sleep(10 * time.Millisecond) {
		if given = tree(); time.Now().After(late) {
			t.Fatalf("not in backoff: %s", given)
		}
	}
	if !strings.Contains(given, "connection refused") {
		t.Errorf("the tree does not say why: %s", given)
	}
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "dead__echo"})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") ||
		!strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("the call: %v", err)
	}
}
