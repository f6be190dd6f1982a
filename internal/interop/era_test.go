package interop

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
)

// A client that knows both eras asks for the newest revision first, is told 400 with a code that is none of the specification's for that
// era, and begins with the handshake by itself.
func TestDualEraClientFallsBack(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	var mu sync.Mutex
	var sent []string
	carry := carrier(t, "")
	record := roundTripper(func(r *http.Request) (*http.Response, error) {
		what := r.Method
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if m, err := jsonrpc.Decode(body, jsonrpc.Limits{}); err == nil {
				what = m.Method + " in " + r.Header.Get("Mcp-Protocol-Version")
			}
		}
		response, err := carry.RoundTrip(r)
		if err == nil {
			what += fmt.Sprintf(": %d", response.StatusCode)
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, what)
		return response, err
	})
	c := connect(t, &mcp.StreamableClientTransport{Endpoint: host.MCP + "/mcp", HTTPClient: &http.Client{Transport: record}})
	if got := c.call("demo__echo", map[string]any{"message": "hi"}); got != "hi" {
		t.Errorf("echo = %q", got)
	}
	if got := c.InitializeResult().ProtocolVersion; got != "2025-11-25" {
		t.Errorf("agreed on %s", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"server/discover in 2026-07-28: 400",
		"initialize in : 200",
		"notifications/initialized in 2025-11-25: 202",
		"tools/call in 2025-11-25: 200",
		"DELETE: 204",
	}
	var posts []string
	for _, s := range sent {
		if !strings.HasPrefix(s, "GET") { // the standing stream opens when it likes
			posts = append(posts, s)
		}
	}
	if !slices.Equal(posts, want) {
		t.Errorf("the client sent\n%q\nwant\n%q", posts, want)
	}
}

// Each older revision is agreed on as it was asked for, and an unknown one answered with the best there is.
func TestRevisionsAreAgreedOn(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "yesterday": "2025-11-25",
	} {
		w := newWire(t, host.MCP+"/mcp", "")
		r := w.post(strings.Replace(hello, "2025-11-25", asked, 1))
		if got := string(r.result(t, "protocolVersion")); got != `"`+want+`"` {
			t.Errorf("asked for %s, got %s, want %s", asked, got, want)
		}
	}
}
