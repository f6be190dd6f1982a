//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's clients and servers do

package interop

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// serveSSE serves a fixture over HTTP+SSE of 2024-11-05.
func serveSSE(t *testing.T, name string) string {
	t.Helper()
	f := newFixture(name)
	return listen(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server {
		return f.Server
	}, nil)) + "/sse"
}

// dialSSE opens a session over HTTP+SSE.
func dialSSE(t *testing.T, url, key string) *client {
	t.Helper()
	return connect(t, detachedTransport{
		&mcp.SSEClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: carrier(t, key)}},
	})
}

// detachedTransport is a transport whose stream outlives the context that it was opened with.
type detachedTransport struct{ mcp.Transport }

func (l detachedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	return l.Transport.Connect(context.WithoutCancel(ctx))
}

// All features work over HTTP+SSE as over other transports, on either side of the host and on both
// sides. The host detects an HTTP+SSE server without a restart.
func TestFeaturesOverHTTPSSE(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {proc: %s, found: {url: %q}, known: {url: %q, transport: sse}}}}\n",
		selfConfig(t, serveSDK, "proc"), serveSSE(t, "found"), serveSSE(t, "known"))})
	for _, way := range []struct{ server, path, prefix, revision string }{
		{"proc", "/sse", "proc__", ""},
		{"proc", "/proc/sse", "", ""},
		{"found", "/sse", "found__", ""},
		{"found", "/found/mcp", "", legacy},
		{"known", "/known/sse", "", ""},
		{"known", "/mcp", "known__", modern},
	} {
		t.Run(way.server+way.path, func(t *testing.T) {
			for _, f := range features {
				t.Run(f.name, func(t *testing.T) {
					var c *client
					switch way.revision {
					case "":
						c = dialSSE(t, host.MCP+way.path, "")
					case modern:
						c = dialIn(t, modern, host.MCP+way.path, "")
						c.awaitConfirmation()
					default:
						c = dialIn(t, way.revision, host.MCP+way.path, "")
					}
					f.do(t, view{
						client: c, server: way.server, prefix: way.prefix, legacyServer: way.server != "proc",
					})
				})
			}
		})
	}
	for _, row := range restarts(t, host) {
		t.Errorf("restarted: %+v", row)
	}
}

// A ticket is valid only for its owner. Other clients learn nothing from the answers.
func TestTicketsAreTheirOwners(t *testing.T) {
	host := startTwoTenants(t)
	post := func(path, key string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, host.MCP+path,
			strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := (&http.Client{Transport: carrier(t, key)}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host.MCP+"/t/acme/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := (&http.Client{Transport: carrier(t, "key-of-ann")}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	var at, id string
	for lines := bufio.NewScanner(stream.Body); at == "" && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			at = text
		} else if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = text
		}
	}
	query, ok := strings.CutPrefix(at, "?")
	if !ok || !strings.HasPrefix(query, "ticket=") || id == "" {
		t.Fatalf("the stream begins with %q, id %q", at, id)
	}
	at = "/t/acme/sse" + at
	back := func(path, key string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host.MCP+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-Id", id)
		response, err := (&http.Client{Transport: carrier(t, key)}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for _, c := range []struct {
		name, path, key string
		want            int
	}{
		{"no key", at, "", 401},
		{"another tenant's key", at, "key-of-zoe", 401},
		{"another principal", at, "key-of-bob", 404},
		{"another tenant", "/t/zeta/sse/message?" + query, "key-of-zoe", 404},
		{"no such ticket", at + "x", "key-of-ann", 404},
		{"no ticket", "/t/acme/sse/message", "key-of-ann", 400},
		{"the owner", at, "key-of-ann", 202},
	} {
		if got := post(c.path, c.key); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name, path, key string
		want            int
	}{
		{"no key", "/t/acme/sse", "", 401},
		{"another principal", "/t/acme/sse", "key-of-bob", 404},
		{"another tenant", "/t/zeta/sse", "key-of-zoe", 404},
		{"the owner", "/t/acme/sse", "key-of-ann", 200},
	} {
		if got := back(c.path, c.key); got != c.want {
			t.Errorf("back with %s: got %d, want %d", c.name, got, c.want)
		}
	}
}
