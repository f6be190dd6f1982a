//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do

package interop

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// servePerSession serves a separate fixture to each session, so that only the session of a call
// lists the tool that the call adds.
func servePerSession(t *testing.T, name string) string {
	t.Helper()
	return listen(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return newFixture(name).Server
	}, nil))
}

// If a stateful HTTP server adds a tool in a session, that session lists the tool, at the server's
// endpoint and in the aggregate, once it is announced. No other session does.
func TestListsOfASessionAreListedToIt(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {own: {url: %q}, shared: {url: %q, share: tenant}}}}\n",
		servePerSession(t, "own"), servePerSession(t, "shared"))})
	for _, row := range []struct{ revision, server, path, prefix string }{
		{legacy, "own", "/mcp", "own__"}, {legacy, "own", "/own/mcp", ""},
		{modern, "own", "/mcp", "own__"}, {modern, "own", "/own/mcp", ""},
		{legacy, "shared", "/mcp", "shared__"}, {legacy, "shared", "/shared/mcp", ""},
		{modern, "shared", "/mcp", "shared__"}, {modern, "shared", "/shared/mcp", ""},
	} {
		t.Run(row.revision+" "+row.server+row.path, func(t *testing.T) {
			grown := "grown" + row.revision[:4] + fmt.Sprint(len(row.prefix))
			c, other := dialIn(t, row.revision, host.MCP+row.path, ""), dialIn(t, row.revision,
				host.MCP+row.path, "")
			if row.revision == modern {
				c.awaitConfirmation()
			}
			if got := c.names(); slices.Contains(got, row.prefix+grown) {
				t.Fatalf("listed before it was added: %v", got)
			}
			other.names()
			c.call(row.prefix+"add_tool", map[string]any{"text": grown})
			c.await("tools")
			if got := c.names(); !slices.Contains(got, row.prefix+grown) {
				t.Errorf("announced and not listed: %v", got)
			}
			if got := c.call(row.prefix+grown, nil); got != "I am new" {
				t.Errorf("the new tool answers %q", got)
			}
			apart := row.revision == legacy && row.server == "own"
			if got := other.names(); slices.Contains(got, row.prefix+grown) == apart {
				t.Errorf("another session lists %v", got)
			}
		})
	}
}

// A change that a server announces to all of its sessions is announced once to each client,
// although mcpd has several sessions with the server.
func TestOneChangeIsAnnouncedOnce(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {all: {url: %q}}}}\n", serveWithSessions(t, newFixture("all")))})
	clients := map[string]*client{}
	for path, prefix := range map[string]string{"/mcp": "all__", "/all/mcp": ""} {
		for i := range 3 {
			c := dialIn(t, legacy, host.MCP+path, "")
			c.names()
			c.call(prefix+"echo", map[string]any{"text": "x"})
			clients[fmt.Sprint(path, " ", i)] = c
		}
	}
	time.Sleep(2500 * time.Millisecond) // debouncing changes takes 2 s at most
	for _, c := range clients {
		for len(c.notifications) > 0 {
			<-c.notifications
		}
	}
	clients["/all/mcp 0"].call("add_tool", map[string]any{"text": "grown"})
	eventually(t, "everybody to hear of it", func() bool {
		for _, c := range clients {
			if len(c.notifications) == 0 {
				return false
			}
		}
		return true
	})
	time.Sleep(2500 * time.Millisecond) // time for a second announcement
	for name, c := range clients {
		if n := len(c.notifications); n != 1 {
			t.Errorf("%s heard %d times of one change", name, n)
		}
		if got := c.names(); !slices.ContainsFunc(got, func(tool string) bool {
			return strings.HasSuffix(tool, "grown")
		}) {
			t.Errorf("%s lists %v", name, got)
		}
	}
}
