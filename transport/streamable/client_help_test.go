package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// memory is a RoundTripper that calls a handler in this process, so that a test can run in a
// synctest bubble.
type memory struct{ handler http.HandlerFunc }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	read, write := io.Pipe()
	w := &memoryWriter{header: http.Header{}, body: write, began: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { write.CloseWithError(ctx.Err()) })
	if r.Body == nil {
		r = r.WithContext(ctx)
		r.Body = http.NoBody
	}
	go func() {
		defer stop()
		m.handler(w, r.WithContext(ctx))
		w.WriteHeader(http.StatusOK)
		if w.broken {
			write.CloseWithError(io.ErrUnexpectedEOF)
		}
		write.Close()
	}()
	select {
	case <-w.began:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	if w.dropped {
		cancel()
		return nil, errors.New("connection reset by peer")
	}
	return &http.Response{StatusCode: w.status, Header: w.sent, Body: &memoryBody{read, cancel},
		ContentLength: -1, Request: r}, nil
}

type memoryWriter struct {
	header, sent http.Header
	body         *io.PipeWriter
	began        chan struct{}
	status       int
	broken       bool // the body ends in the middle
	dropped      bool // there is no response at all
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		w.sent = w.header.Clone()
		close(w.began)
	}
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

type memoryBody struct {
	io.Reader
	cancel func()
}

func (b *memoryBody) Close() error {
	b.cancel()
	return nil
}

// peer is a scripted server: its actions for each method, and the requests that it received.
type peer struct {
	posts map[string]func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message)
	get   http.HandlerFunc

	mu   sync.Mutex
	seen []string // "POST tools/call", "GET", …
	all  []*http.Request
}

func newPeer() *peer {
	p := &peer{posts: map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Message){}}
	p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		w.Header().Set("Mcp-Session-Id", "s1")
		answerJSON(w, jsonrpc.Response(m.ID, jsontext.Value(`{"protocolVersion":"2025-11-25"}`)))
	}
	p.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, _ := jsonrpc.Decode(body, jsonrpc.Limits{})
	p.mu.Lock()
	p.seen = append(p.seen, strings.TrimSpace(r.Method+" "+m.Method))
	p.all = append(p.all, r)
	post := p.posts[m.Method]
	p.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		p.get(w, r)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case post != nil:
		post(w, r, m)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// refuse answers with a status.
func refuse(status int) func(http.ResponseWriter, *http.Request, jsonrpc.Message) {
	return func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) { w.WriteHeader(status) }
}

// forget makes the server give this answer to all requests with which a client tests if its session
// exists.
func (p *peer) forget(answer func(http.ResponseWriter, *http.Request, jsonrpc.Message)) {
	for _, method := range []string{"ping", "tools/list", "resources/list", "prompts/list"} {
		p.posts[method] = answer
	}
}

func (p *peer) saw() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func answerJSON(w http.ResponseWriter, m jsonrpc.Message) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(m.Append(nil))
}

// stream starts an event stream with the given texts as events. A blank line is added to each.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		emit(w, e)
	}
}

// cutStream is a stream of exactly this text.
func cutStream(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, text)
	}
}

func emit(w http.ResponseWriter, event string) {
	io.WriteString(w, event+"\n\n")
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func data(m jsonrpc.Message) string { return "data: " + string(m.Append(nil)) }

func newTestClient(t *testing.T, o streamable.ClientOptions) *streamable.Client {
	t.Helper()
	c, err := streamable.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// inMemory connects a client to p without a network.
func inMemory(t *testing.T, p *peer) *streamable.Client {
	t.Helper()
	return newTestClient(t, streamable.ClientOptions{
		URL: "http://peer/mcp", Transport: memory{p.ServeHTTP},
	})
}

func call(id uint64, method string) jsonrpc.Message {
	return jsonrpc.Request(jsonrpc.IntID(id), method, nil)
}

func send(t *testing.T, c *streamable.Client, messages ...jsonrpc.Message) {
	t.Helper()
	for _, m := range messages {
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatalf("send %s: %v", m.Append(nil), err)
		}
	}
}

func recv(t *testing.T, c *streamable.Client) transport.Inbound {
	t.Helper()
	in, err := c.Recv(t.Context())
	if err != nil {
		t.Fatalf("recv: %v", err)
	}
	return in
}

// shake does the handshake up to, but not including, notifications/initialized.
func shake(t *testing.T, c *streamable.Client, v protocol.Version) {
	t.Helper()
	send(t, c, call(0, "initialize"))
	if in := recv(t, c); in.Err != nil || in.Message.Kind() != jsonrpc.KindResult {
		t.Fatalf("initialize: got %s", show(in))
	}
	c.Negotiated(v)
}

// show formats an Inbound in one line, for comparison.
func show(in transport.Inbound) string {
	switch {
	case in.Err != nil:
		return fmt.Sprintf("%v failed, written=%t: %v", in.RequestID, in.Written, in.Err)
	case in.Control != nil:
		return fmt.Sprintf("%T%+v", in.Control, in.Control)
	}
	return fmt.Sprintf("%v: %s", in.RequestID, in.Message.Append(nil))
}

func expect(t *testing.T, c *streamable.Client, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := show(recv(t, c)); got != w {
			t.Errorf("got %s, want %s", got, w)
		}
	}
}
