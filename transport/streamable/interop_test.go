package streamable

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// The official Go client tries the newest revision first. It takes the refusal as a sign to
// initialize, and then works.
func TestOfficialClientFallsBackAndWorks(t *testing.T) {
	host := newTestHost(t)
	host.scripts["tools/call"] = func(s *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		out.(Reconnector).CloseStream(10 * time.Millisecond)
		s.streams.Push(jsonrpc.Notification("notifications/tools/list_changed", nil))
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(`{"content":[{"type":"text","text":"hello"}]}`)))
	}
	server := serve(t, host, Options{})
	changed := make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(_ context.Context, _ *mcp.ToolListChangedRequest) {
			changed <- struct{}{}
		},
	})
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	session, err := client.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", HTTPClient: web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := result.Content[0].(*mcp.TextContent); !ok || text.Text != "hello" {
		t.Errorf("got %v, want hello", result.Content)
	}
	<-changed
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if len(host.sessions) != 0 {
		t.Errorf("%d sessions after the client closed its own, want none", len(host.sessions))
	}
}
