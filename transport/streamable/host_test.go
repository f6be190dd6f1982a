package streamable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testHost is a Host with sessions in memory. Their requests run scripts by method.
type testHost struct {
	store   *Store
	scripts map[string]func(s *testSession, m jsonrpc.Message, out transport.Sink)
	route   func(r *http.Request) (Endpoint, *protocol.Error)
	openErr error
	late    time.Duration    // after which initialize is refused
	refuse  map[string]error // by method: the error that Deliver returns

	mu       sync.Mutex
	sessions map[string]*testSession
	peer     *testPeer
	opened   int
	newest   *testSession
	running  sync.WaitGroup
}

type testSession struct {
	host    *testHost
	ep      Endpoint
	id      string
	version protocol.Version
	streams *Streams

	mu        sync.Mutex
	delivered []jsonrpc.Message // notifications and answers
	touched   int
}

func newTestHost(t *testing.T) *testHost {
	h := &testHost{store: NewStore(StoreOptions{}), sessions: make(map[string]*testSession)}
	h.scripts = map[string]func(*testSession, jsonrpc.Message, transport.Sink){
		"echo": func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
			out.Finish(jsonrpc.Response(m.ID, m.Params))
		},
	}
	t.Cleanup(func() {
		h.running.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, s := range h.sessions {
			s.streams.Close()
		}
		if n := h.store.Bytes(); n != 0 {
			t.Errorf("%d bytes of history counted after every session was closed, want 0", n)
		}
	})
	return h
}

func (h *testHost) Route(r *http.Request) (Endpoint, RouteKind, *protocol.Error) {
	kind := Streamable
	switch {
	case strings.HasSuffix(r.URL.Path, "/sse"):
		kind = Events
	case strings.HasSuffix(r.URL.Path, "/sse/message"):
		kind = Messages
	}
	if h.route != nil {
		ep, err := h.route(r)
		return ep, kind, err
	}
	return Endpoint{Tenant: "acme", Principal: r.Header.Get("Authorization")}, kind, nil
}

func (h *testHost) Open(_ context.Context, ep Endpoint, init jsonrpc.Message, out transport.Sink,
	on *Streams) (Session, error) {
	if h.openErr != nil {
		return nil, h.openErr
	}
	name, _ := jsonedit.GetString(init.Params, "protocolVersion")
	v, ok := protocol.ParseVersion(name)
	if !ok && h.late > 0 {
		time.AfterFunc(h.late, func() {
			out.Finish(jsonrpc.Failure(init.ID, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: "late",
			}))
		})
		return h.add(ep, protocol.LatestLegacy, on), nil
	}
	if !ok {
		out.Finish(jsonrpc.Failure(init.ID, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams, Message: "protocolVersion",
		}))
		return h.add(ep, protocol.LatestLegacy, on), nil
	}
	s := h.add(ep, v, on)
	out.Finish(jsonrpc.Response(init.ID, jsontext.Value(`{"protocolVersion":"`+name+
		`","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}`)))
	return s, nil
}

func (h *testHost) add(ep Endpoint, v protocol.Version, on *Streams) *testSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened++
	id := fmt.Sprintf("session-%d", h.opened)
	if on == nil {
		on = h.store.Streams("acme", id)
	} else {
		id = on.ID()
	}
	s := &testSession{host: h, ep: ep, id: id, version: v, streams: on}
	h.sessions[s.id], h.newest = s, s
	return s
}

func (h *testHost) Lookup(_ context.Context, ep Endpoint, id string) (Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[id]; s != nil && s.ep == ep {
		return s, nil
	}
	return nil, ErrNoSession
}

func (s *testSession) ID() string                { return s.id }
func (s *testSession) Version() protocol.Version { return s.version }
func (s *testSession) Streams() *Streams         { return s.streams }

func (s *testSession) Touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched++
}

func (s *testSession) Deliver(_ context.Context, m jsonrpc.Message, out transport.Sink) error {
	if err := s.host.refuse[m.Method]; err != nil {
		return err
	}
	if out == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.delivered = append(s.delivered, m)
		return nil
	}
	script := s.host.scripts[m.Method]
	if script == nil {
		out.Finish(jsonrpc.Failure(m.ID,
			protocol.Translate(protocol.MethodNotFound(m.Method), s.version)))
		return nil
	}
	s.host.running.Go(func() { script(s, m, out) })
	return nil
}

func (s *testSession) Close(context.Context) error {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	delete(s.host.sessions, s.id)
	s.streams.Close()
	return nil
}

// testServer is a handler on a loopback socket with the limits of NewHTTPServer.
type testServer struct {
	*httptest.Server
	t           *testing.T
	handler     *Handler
	host        *testHost
	connections *Connections
}

func serve(t *testing.T, host *testHost, o Options) *testServer {
	t.Helper()
	o.Host, o.Store = host, host.store
	h := NewHandler(o)
	connections := &Connections{}
	config := NewHTTPServer(ServerOptions{
		Handler: h, Drain: []func(){h.Drain}, Connections: connections,
	})
	s := httptest.NewUnstartedServer(nil)
	s.Config, s.Listener = config, connections.Listener(s.Listener)
	s.Start()
	t.Cleanup(func() {
		h.Drain() // httptest waits for open connections
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return &testServer{s, t, h, host, connections}
}

// raw sends bytes and reads one response, including its body. LF in text is sent as CR LF.
func (s *testServer) raw(text string) (*http.Response, string) {
	s.t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	head = strings.ReplaceAll(head, "HOST", s.Listener.Addr().String())
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(conn, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%v for %.200q", err, text)
	}
	defer resp.Body.Close()
	content, _ := io.ReadAll(resp.Body)
	return resp, string(content)
}

// request makes a request with the headers that every client sends. header contains pairs; an empty
// value removes a header.
func (s *testServer) request(ctx context.Context, method, body string,
	header ...string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/t/acme/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	switch method {
	case http.MethodPost:
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		req.Header.Set("Accept", "text/event-stream")
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Del(header[i]); header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	return req
}

func (s *testServer) do(req *http.Request) *http.Response {
	s.t.Helper()
	resp, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s *testServer) post(body string, header ...string) *http.Response {
	s.t.Helper()
	return s.do(s.request(s.t.Context(), http.MethodPost, body, header...))
}

func (s *testServer) get(header ...string) *http.Response {
	s.t.Helper()
	return s.do(s.request(s.t.Context(), http.MethodGet, "", header...))
}

// session initializes and returns the session id.
func (s *testServer) session(v protocol.Version) string {
	s.t.Helper()
	resp := s.post(initializeBody(v))
	if text := content(s.t, resp); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("initialize: %d %s", resp.StatusCode, text)
	}
	return resp.Header.Get("Mcp-Session-Id")
}

func initializeBody(v protocol.Version) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + v.String() +
		`","capabilities":{}}}`
}

func content(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// events reads a response as a stream, without comments.
type events struct {
	t    *testing.T
	resp *http.Response
	r    *Reader
}

func readStream(t *testing.T, resp *http.Response) *events {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != streamType {
		t.Fatalf("got %d %q, want a stream: %s", resp.StatusCode, got, content(t, resp))
	}
	return &events{t, resp, NewReader(resp.Body, ReaderLimits{})}
}

func (e *events) next() Event {
	e.t.Helper()
	event, err := e.r.Next()
	if err != nil {
		e.t.Fatal(err)
	}
	return event
}

// rest reads to the end and returns the data of all events that have any.
func (e *events) rest() (all []string) {
	e.t.Helper()
	for {
		event, err := e.r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			e.t.Fatal(err)
		}
		if len(event.Data) > 0 {
			all = append(all, string(event.Data))
		}
	}
}

func note(method string, n int) jsonrpc.Message {
	return jsonrpc.Notification(method, jsontext.Value(fmt.Sprintf(`{"n":%d}`, n)))
}

func line(m jsonrpc.Message) string { return string(m.Append(nil)) }
