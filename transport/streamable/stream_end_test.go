package streamable

import (
	"net/http"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A drain ends listening streams with a retry delay, lets answers finish, and does not delay the
// server.
func TestShutdownEndsStreamsPolitely(t *testing.T) {
	host := newTestHost(t)
	proceed := make(chan struct{})
	host.scripts["slow"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		<-proceed
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	listening := readStream(t, s.get("Mcp-Session-Id", id))
	listening.next()
	calling := readStream(t, s.post(call("slow"), "Mcp-Session-Id", id))
	calling.next()
	calling.next()
	down := make(chan error, 1)
	go func() { down <- s.Config.Shutdown(t.Context()) }()
	e := listening.next()
	if e.Retry < DefaultRetry || e.Retry > DefaultRetry+retrySpread {
		t.Errorf("retry is %v, want within %v of %v", e.Retry, retrySpread, DefaultRetry)
	}
	if rest := listening.rest(); len(rest) != 0 {
		t.Errorf("got %q, want the end", rest)
	}
	w := newRecorder()
	s.handler.ServeHTTP(w, s.request(t.Context(), http.MethodGet, "", "Mcp-Session-Id", id))
	if w.status != http.StatusServiceUnavailable {
		t.Errorf("a GET during the drain: got %d, want 503", w.status)
	}
	close(proceed)
	if rest := calling.rest(); len(rest) != 1 || rest[0] != answer {
		t.Errorf("got %q, want the answer of the call in flight", rest)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// recorder is a ResponseWriter without a connection.
type recorder struct {
	header http.Header
	status int
}

func newRecorder() *recorder { return &recorder{header: make(http.Header)} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
func (r *recorder) WriteHeader(status int)      { r.status = status }

func TestOldStreamIsEnded(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{KeepAlive: time.Millisecond, StreamAge: time.Millisecond})
	events := readStream(t, s.get("Mcp-Session-Id", s.session(protocol.V20250618)))
	if e := events.next(); e.Retry < DefaultRetry || e.Data != nil {
		t.Errorf("got %+v, want a retry", e)
	}
	if rest := events.rest(); len(rest) != 0 {
		t.Errorf("got %q, want the end", rest)
	}
}

// A session that ends also ends its waiting requests, including those without a stream so far.
func TestSessionEndsWhileARequestWaits(t *testing.T) {
	host := newTestHost(t)
	release := make(chan struct{})
	host.scripts["slow"] = func(s *testSession, m jsonrpc.Message, out transport.Sink) {
		s.streams.Close()
		<-release
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s := serve(t, host, Options{KeepAlive: 5 * time.Millisecond})
	resp := s.post(call("slow"), "Mcp-Session-Id", s.session(protocol.V20251125))
	if body := content(t, resp); resp.StatusCode != 404 {
		t.Errorf("got %d %s, want 404", resp.StatusCode, body)
	}
	close(release)
}
