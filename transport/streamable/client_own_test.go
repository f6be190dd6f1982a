package streamable

import (
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Our client and our server work together, even if the server makes the client reconnect in the
// middle of a request.
func TestOwnClientAndServer(t *testing.T) {
	host := newTestHost(t)
	host.scripts["tools/call"] = func(s *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/progress", 1))
		out.(Reconnector).CloseStream(60 * time.Millisecond)
		out.Send(note("notifications/progress", 2))
		s.streams.Push(note("notifications/tools/list_changed", 3))
		out.Finish(jsonrpc.Response(m.ID, m.Params))
	}
	server := serve(t, host, Options{})
	c, err := NewClient(ClientOptions{URL: server.URL + "/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	next := func() transport.Inbound {
		t.Helper()
		in, err := c.Recv(t.Context())
		if err != nil || in.Err != nil {
			t.Fatalf("recv: %+v, %v", in, err)
		}
		return in
	}
	send := func(m jsonrpc.Message) {
		t.Helper()
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	initialize, err := jsonrpc.Decode([]byte(initializeBody(protocol.V20251125)), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	send(initialize)
	next()
	c.Negotiated(protocol.V20251125)
	send(jsonrpc.Notification("notifications/initialized", nil))
	if in := next(); in.Control != (StandaloneState{Open: true}) {
		t.Errorf("got %+v, want the standing stream", in)
	}
	send(jsonrpc.Request(jsonrpc.IntID(7), "tools/call", []byte(`{"n":12345678901234567890}`)))
	var onCall []string
	alone, hangUps := 0, 0
	for len(onCall) < 3 || alone < 1 {
		in := next()
		switch _, hungUp := in.Control.(transport.CloseStream); {
		case hungUp:
			hangUps++
		case in.RequestID == jsonrpc.IntID(7):
			onCall = append(onCall, line(in.Message))
		case in.RequestID.IsZero() && in.Message.Method == "notifications/tools/list_changed":
			alone++
		default:
			t.Fatalf("got %+v", in)
		}
	}
	want := []string{line(note("notifications/progress", 1)), line(note("notifications/progress", 2)),
		`{"jsonrpc":"2.0","id":7,"result":{"n":12345678901234567890}}`}
	for i := range want {
		if onCall[i] != want[i] {
			t.Errorf("message %d of the call: got %s, want %s", i, onCall[i], want[i])
		}
	}
	if hangUps != 1 {
		t.Errorf("the server hung up once, and %d times were told", hangUps)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if len(host.sessions) != 0 {
		t.Errorf("%d sessions are left after Close", len(host.sessions))
	}
}
