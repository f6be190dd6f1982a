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

// A client of both eras asks for the newest revision first, and gets it. It then needs no handshake
// and no session.
func TestDualEraClientSpeaksTheNewest(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	var mu sync.Mutex
	var sent []string
	carry := carrier(t, "")
	record := roundTripper(func(r *http.Request) (*http.Response, error) {
		label := r.Method
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if m, err := jsonrpc.Decode(body, jsonrpc.Limits{}); err == nil {
				label = m.Method + " in " + r.Header.Get("Mcp-Protocol-Version")
			}
		}
		response, err := carry.RoundTrip(r)
		if err == nil {
			label += fmt.Sprintf(": %d", response.StatusCode)
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, label)
		return response, err
	})
	c := connect(t, &mcp.StreamableClientTransport{
		Endpoint: host.MCP + "/mcp", HTTPClient: &http.Client{Transport: record},
	})
	if got := c.call("demo__echo", map[string]any{"message": "hi"}); got != "hi" {
		t.Errorf("echo = %q", got)
	}
	if got := c.InitializeResult().ProtocolVersion; got != modern {
		t.Errorf("agreed on %s", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	// The subscription to the lists may open and close at any time.
	sent = slices.DeleteFunc(sent, func(s string) bool {
		return strings.HasPrefix(s, "subscriptions/listen in "+modern) ||
			s == "notifications/cancelled in "+modern+": 202"
	})
	if want := []string{"server/discover in 2026-07-28: 200",
		"tools/call in 2026-07-28: 200"}; !slices.Equal(sent, want) {
		t.Errorf("the client sent\n%q\nwant\n%q", sent, want)
	}
}

// The host agrees on each older revision that a client requests. It answers an unknown revision
// with the newest legacy revision.
func TestRevisionsAreAgreedOn(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "yesterday": "2025-11-25",
	} {
		w := newWire(t, host.MCP+"/mcp", "")
		r := w.post(strings.Replace(hello, "2025-11-25", asked, 1))
		if got := string(r.result(t, "protocolVersion")); got != `"`+want+`"` {
			t.Errorf("asked for %s, got %s, want %s", asked, got, want)
		}
	}
}
