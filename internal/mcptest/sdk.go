package mcptest

import (
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Connect opens a session of the official Go SDK's client with a Streamable HTTP endpoint. The key
// is sent as a bearer token; empty sends none. The session ends with the test.
func Connect(t testing.TB, url, key string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections) // runs after the session's end below
	return sessionOf(t, &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: withKey{key, connections}},
	}, o, nil)
}

// ConnectStdio opens a session with a child process, such as `mcpd stdio` or the test server. The
// process's standard error is the test's.
func ConnectStdio(t testing.TB, command *exec.Cmd, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if command.Stderr == nil {
		command.Stderr = os.Stderr
	}
	return sessionOf(t, &mcp.CommandTransport{Command: command}, o, nil)
}

// sessionOf opens a session over any transport of the SDK. The session ends with the test.
func sessionOf(t testing.TB, over mcp.Transport, o *mcp.ClientOptions,
	so *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "mcptest", Version: "1"},
		o).Connect(t.Context(), over, so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test may have ended the other side
	return s
}

// withKey adds a bearer token to every request.
type withKey struct {
	key  string
	next http.RoundTripper
}

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	return w.next.RoundTrip(r)
}

// Text returns the text of a tool's result: that of its first content block.
func Text(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) == 0 {
		t.Fatal("result without content")
	}
	block, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("first content block is a %T", r.Content[0])
	}
	return block.Text
}
