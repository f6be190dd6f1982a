package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// listen serves over loopback and counts the connections.
func listen(t *testing.T, h http.Handler) (url string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/mcp", connections
}

// A request may be repeated only if no bytes of it can have reached the server.
func TestClientKnowsWhatWasWritten(t *testing.T) {
	p := newPeer()
	url, _ := listen(t, p)
	p.posts["drop"] = func(http.ResponseWriter, *http.Request, jsonrpc.Message) {
		panic(http.ErrAbortHandler)
	}
	c := newTestClient(t, streamable.ClientOptions{URL: url})
	send(t, c, call(1, "drop"))
	if in := recv(t, c); in.Err == nil || !in.Written {
		t.Errorf("dropped: got %s", show(in))
	}
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	c = newTestClient(t, streamable.ClientOptions{URL: "http://" + nobody.Addr().String()})
	send(t, c, call(1, "x"))
	if in := recv(t, c); in.Err == nil || in.Written {
		t.Errorf("nobody there: got %s", show(in))
	}
	guarded := streamable.NewTransport(func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("not allowed")
	})
	c = newTestClient(t, streamable.ClientOptions{URL: url, Transport: guarded})
	send(t, c, call(1, "x"))
	if in := recv(t, c); in.Err == nil || in.Written ||
		!strings.Contains(in.Err.Error(), "not allowed") {
		t.Errorf("refused by the dialler: got %s", show(in))
	}
}

// Consecutive calls use one connection, whether they are answered as JSON or as a stream.
func TestClientReusesItsConnection(t *testing.T) {
	p := newPeer()
	url, connections := listen(t, p)
	p.posts["json"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		answerJSON(w, jsonrpc.Response(m.ID, nil))
	}
	p.posts["stream"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		stream(w, data(jsonrpc.Response(m.ID, nil)))
	}
	p.posts["refuse"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
		w.WriteHeader(400)
		io.WriteString(w, strings.Repeat("no ", 1000))
	}
	web := streamable.NewTransport(nil)
	defer web.CloseIdleConnections()
	closed := make(chan struct{}, 1)
	c := newTestClient(t, streamable.ClientOptions{URL: url, Transport: watching{web, closed}})
	for id, method := range []string{"json", "stream", "refuse", "stream", "json",
		"stream", "stream"} {
		send(t, c, call(uint64(id), method))
		recv(t, c)
		<-closed // the stream's end follows its last event
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// watching signals when a body is closed.
type watching struct {
	http.RoundTripper
	closed chan<- struct{}
}

func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &watchedBody{resp.Body, sync.OnceFunc(func() { w.closed <- struct{}{} })}
	}
	return resp, err
}

type watchedBody struct {
	io.ReadCloser
	tell func()
}

func (b *watchedBody) Close() error {
	defer b.tell()
	return b.ReadCloser.Close()
}

func TestClientDoesNotFollowARedirect(t *testing.T) {
	var reached atomic.Bool
	elsewhere, _ := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached.Store(true)
	}))
	url, _ := listen(t, http.RedirectHandler(elsewhere, http.StatusPermanentRedirect))
	c := newTestClient(t, streamable.ClientOptions{
		URL: url, Header: http.Header{"Authorization": {"Bearer secret-token"}},
	})
	send(t, c, call(1, "initialize"))
	if in := recv(t, c); in.Err == nil || in.Written || !strings.Contains(in.Err.Error(), "redirect") {
		t.Errorf("got %s", show(in))
	}
	if reached.Load() {
		t.Error("the request went elsewhere")
	}
}

func TestClientsShareATransport(t *testing.T) {
	p := newPeer()
	url, connections := listen(t, p)
	shared := streamable.NewTransport(nil)
	defer shared.CloseIdleConnections()
	for range 5 {
		c := newTestClient(t, streamable.ClientOptions{URL: url, Transport: shared})
		shake(t, c, protocol.V20251125)
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func TestClientWorksInParallel(t *testing.T) {
	p := newPeer()
	url, _ := listen(t, p)
	p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		answerJSON(w, jsonrpc.Response(m.ID, m.Params))
	}
	c := newTestClient(t, streamable.ClientOptions{URL: url})
	const n = 500
	var group sync.WaitGroup
	defer group.Wait()
	window := make(chan struct{}, 64)
	group.Go(func() {
		for id := range uint64(n) {
			window <- struct{}{}
			if err := c.Send(t.Context(),
				jsonrpc.Request(jsonrpc.IntID(id), "x", fmt.Appendf(nil, `{"n":%d}`, id))); err != nil {
				t.Error(err)
			}
		}
	})
	seen := map[uint64]bool{}
	for range n {
		in := recv(t, c)
		<-window
		id, _ := in.Message.ID.Int()
		if in.RequestID != in.Message.ID ||
			string(in.Message.Result) != fmt.Sprintf(`{"n":%d}`, id) || seen[id] {
			t.Fatalf("got %s", show(in))
		}
		seen[id] = true
	}
}

// official returns the official SDK's server with tools that use all requests a server can send to
// a client.
func official(t *testing.T, o *mcp.StreamableHTTPOptions) (handler http.Handler, server *mcp.Server,
	hung, cancelled chan struct{}) {
	hung, cancelled = make(chan struct{}), make(chan struct{})
	server = mcp.NewServer(&mcp.Implementation{Name: "official", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := &mcp.TextContent{Text: string(r.Params.Arguments)}
			return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "ask", InputSchema: schema},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := r.Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1}); err != nil {
				return nil, err
			}
			if o != nil && o.EventStore != nil {
				r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
			}
			answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{
				Message: "really?", RequestedSchema: schema,
			})
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "hang", InputSchema: schema},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(hung)
			<-ctx.Done()
			close(cancelled)
			return nil, ctx.Err()
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)
	return h, server, hung, cancelled
}

func TestClientAgainstTheOfficialServer(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    mcp.StreamableHTTPOptions
		asks bool // it can ask the client within a call
	}{
		{"json", mcp.StreamableHTTPOptions{JSONResponse: true}, false},
		{"stream", mcp.StreamableHTTPOptions{}, true},
		{"resumable stream", mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, true},
	} {
		for _, v := range []protocol.Version{protocol.V20250326, protocol.V20250618, protocol.V20251125} {
			t.Run(tt.name+"/"+v.String(), func(t *testing.T) {
				handler, server, hung, cancelled := official(t, &tt.o)
				url, _ := listen(t, handler)
				c := newTestClient(t, streamable.ClientOptions{URL: url})
				params := `{"protocolVersion":"` + v.String() +
					`","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`
				send(t, c, jsonrpc.Request(jsonrpc.IntID(0), "initialize", []byte(params)))
				if in := recv(t, c); in.Err != nil ||
					!strings.Contains(show(in), `"protocolVersion":"`+v.String()+`"`) {
					t.Fatalf("initialize: got %s", show(in))
				}
				c.Negotiated(v)
				send(t, c, jsonrpc.Notification("notifications/initialized", nil))
				if in := recv(t, c); in.Control != (streamable.StandaloneState{Open: true}) {
					t.Fatalf("standing stream: got %s", show(in))
				}

				send(t, c, jsonrpc.Request(jsonrpc.IntID(1), "tools/call",
					[]byte(`{"name":"echo","arguments":{"a":1}}`)))
				if in := recv(t, c); in.RequestID != jsonrpc.IntID(1) ||
					!strings.Contains(show(in), `{\"a\":1}`) {
					t.Errorf("echo: got %s", show(in))
				}

				server.AddTool(&mcp.Tool{Name: "more", InputSchema: map[string]any{"type": "object"}}, nil)
				if in := recv(t, c); !in.RequestID.IsZero() ||
					in.Message.Method != "notifications/tools/list_changed" {
					t.Errorf("list changed: got %s", show(in))
				}

				if tt.asks {
					send(t, c, jsonrpc.Request(jsonrpc.IntID(2), "tools/call",
						[]byte(`{"name":"ask","_meta":{"progressToken":"p"}}`)))
					for _, want := range []string{"notifications/progress", "elicitation/create"} {
						in := recv(t, c)
						if _, hungUp := in.Control.(transport.CloseStream); hungUp && tt.o.EventStore != nil {
							in = recv(t, c)
						}
						if in.Message.Method != want || in.RequestID != jsonrpc.IntID(2) {
							t.Fatalf("got %s, want %s related to 2", show(in), want)
						}
						if in.Message.Kind() == jsonrpc.KindRequest {
							send(t, c, jsonrpc.Response(in.Message.ID, []byte(`{"action":"accept","content":{}}`)))
						}
					}
					if in := recv(t, c); in.RequestID != jsonrpc.IntID(2) ||
						!strings.Contains(show(in), `"text":"accept"`) {
						t.Errorf("ask: got %s", show(in))
					}
				}

				send(t, c, jsonrpc.Request(jsonrpc.IntID(3), "tools/call", []byte(`{"name":"hang"}`)))
				<-hung
				send(t, c, jsonrpc.Notification("notifications/cancelled", []byte(`{"requestId":3}`)))
				<-cancelled

				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if remaining := len(slices.Collect(server.Sessions())); remaining != 0 {
					t.Errorf("%d sessions are left after Close", remaining)
				}
			})
		}
	}
}

func TestClientNoticesThatTheOfficialServerHasForgottenIt(t *testing.T) {
	handler, server, _, _ := official(t, nil)
	url, _ := listen(t, handler)
	c := newTestClient(t, streamable.ClientOptions{URL: url})
	send(t, c, jsonrpc.Request(jsonrpc.IntID(0), "initialize",
		[]byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)))
	recv(t, c)
	c.Negotiated(protocol.V20251125)
	for s := range server.Sessions() {
		s.Close()
	}
	send(t, c, call(1, "tools/list"))
	if in := recv(t, c); !errors.Is(in.Err, streamable.ErrSessionLost) || in.Written {
		t.Errorf("got %s", show(in))
	}
	if _, err := c.Recv(t.Context()); !errors.Is(err, streamable.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkClient(b *testing.B) {
	p := newPeer()
	p.posts["json"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		answerJSON(w, jsonrpc.Response(m.ID, m.Params))
	}
	p.posts["stream"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		stream(w, data(jsonrpc.Response(m.ID, m.Params)))
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := jsonrpc.Decode(body, jsonrpc.Limits{})
		p.posts[m.Method](w, r, m)
	}))
	defer s.Close()
	for _, method := range []string{"json", "stream"} {
		b.Run(method, func(b *testing.B) {
			c, err := streamable.NewClient(streamable.ClientOptions{URL: s.URL})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close(context.Background())
			b.ReportAllocs()
			for id := uint64(0); b.Loop(); id++ {
				if err := c.Send(b.Context(),
					jsonrpc.Request(jsonrpc.IntID(id), method, []byte(`{"name":"echo"}`))); err != nil {
					b.Fatal(err)
				}
				if in, err := c.Recv(b.Context()); err != nil || in.Err != nil {
					b.Fatal(in.Err, err)
				}
			}
		})
	}
}
