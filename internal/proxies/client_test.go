package proxies

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// patience limits the time of an operation that should finish in a moment.
const patience = 10 * time.Second

// client is an SDK client session with channels for the notifications that it received.
type client struct {
	*mcp.ClientSession
	changed, progress chan struct{}
}

// proxyTransport sends each request to the proxy under test, whatever host its URL names. It sets
// the Origin header that a page of that host would send.
type proxyTransport struct{ *http.Transport }

func (r proxyTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Origin", "https://"+q.URL.Host)
	return r.Transport.RoundTrip(q)
}

func proxyClient(t *testing.T, port string, trust *x509.CertPool) *http.Client {
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trust},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: proxyTransport{transport}}
}

// connect opens a session. An empty revision selects the newest.
func connect(t *testing.T, over mcp.Transport, revision string) *client {
	t.Helper()
	c := &client{changed: make(chan struct{}, 100), progress: make(chan struct{}, 100)}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "proxies", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			c.changed <- struct{}{}
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			c.progress <- struct{}{}
		},
	})
	session, err := sdk.Connect(t.Context(), over, &mcp.ClientSessionOptions{
		ProtocolVersion: revision,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the proxy may have exited
	c.ClientSession = session
	return c
}

func (c *client) call(t *testing.T, tool string, args any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	params := &mcp.CallToolParams{Name: "demo__" + tool, Arguments: args}
	params.SetProgressToken("p")
	r, err := c.CallTool(ctx, params)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return mcptest.Text(t, r)
}

func (c *client) await(t *testing.T, label string, news chan struct{}) {
	t.Helper()
	select {
	case <-news:
	case <-time.After(patience):
		t.Errorf("%s was not heard of", label)
	}
}

// silence is longer than the timeouts of the proxies in these tests.
const silence = 5 * time.Second

// drive exercises clients through a proxy, once for each path prefix.
func drive(t *testing.T, port string, trust *x509.CertPool, prefixes ...string) {
	t.Helper()
	listening := map[string]*client{}
	named := &mcp.StreamableClientTransport{
		Endpoint: "https://" + name + ":" + port + "/t/acme/mcp", HTTPClient: proxyClient(t, port, trust),
	}
	// The Origin has the page's own host, but another port than 443.
	connect(t, named, "")
	for _, prefix := range prefixes {
		url := "https://" + name + prefix + "/t/acme/"
		direct := func(revision string) *client {
			return connect(t, &mcp.StreamableClientTransport{Endpoint: url + "mcp",
				HTTPClient: proxyClient(t, port, trust)}, revision)
		}
		events := connect(t, &mcp.SSEClientTransport{Endpoint: url + "sse",
			HTTPClient: proxyClient(t, port, trust)}, "")
		old := direct(legacy)
		for kind, c := range map[string]*client{"newest": direct(""), "legacy": old, "HTTP+SSE": events} {
			if got := c.call(t, "echo", map[string]any{"message": kind}); got != kind {
				t.Errorf("%s at %s/: got %q", kind, prefix, got)
			}
			c.call(t, "test_tool_with_progress", nil)
			c.await(t, kind+" at "+prefix+"/: progress", c.progress)
		}
		listening["legacy at "+prefix+"/"], listening["HTTP+SSE at "+prefix+"/"] = old, events
	}
	time.Sleep(silence) // only the host's keep-alives pass
	for label, c := range listening {
		c.call(t, "test_trigger_tool_change", nil)
		c.await(t, label+": a change of the tools", c.changed)
	}
}

// legacy is the newest revision that has a standalone stream.
const legacy = "2025-11-25"
