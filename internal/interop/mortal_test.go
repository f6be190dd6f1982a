package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// restartable is a server at a URL that can be stopped and started again on the same port.
type restartable struct {
	t       *testing.T
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
}

func newRestartable(t *testing.T, h http.Handler) *restartable {
	t.Helper()
	m := &restartable{t: t, handler: h, address: "127.0.0.1:0"}
	m.start()
	t.Cleanup(m.stop)
	return m
}

// start serves, on the same port as before.
func (m *restartable) start() {
	m.t.Helper()
	listener, err := net.Listen("tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.address, m.server = listener.Addr().String(), &http.Server{Handler: m.handler}
	server := m.server
	go func() { _ = server.Serve(listener) }() // owner: the test, which ends it with end
}

// stop closes all connections, and refuses new ones.
func (m *restartable) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		_ = m.server.Close()
		m.server = nil
	}
}

// scripted is a Streamable HTTP server with one tool, "t". If it has sessions, it knows only those
// of its current life.
type scripted struct {
	sessions       bool
	stream         http.HandlerFunc // of GET; nil for 405
	sessionsOpened atomic.Int64     // number of sessions in all lives
	life           atomic.Int64
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		if s.stream != nil {
			s.stream(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	prefix := fmt.Sprintf("life-%d-", s.life.Load())
	if id := r.Header.Get("Mcp-Session-Id"); s.sessions && m.Method != "initialize" &&
		!strings.HasPrefix(id, prefix) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		n := s.sessionsOpened.Add(1)
		if s.sessions {
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(prefix, n))
		}
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = `{"content":[{"type":"text","text":"done"}]}`
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// open is a stream without messages.
func open(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": open\n\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
