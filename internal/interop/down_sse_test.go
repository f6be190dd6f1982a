package interop

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// scriptedSSE is the scripted server over HTTP+SSE, at /sse.
type scriptedSSE struct {
	scripted
	mu      sync.Mutex
	streams map[string]chan string
	n       int
	opened  atomic.Int64
	short   bool // each stream ends after the answer to tools/list
}

func (s *scriptedSSE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.Path == "/sse" {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if r.Method == http.MethodGet {
		s.opened.Add(1)
		s.mu.Lock()
		s.n++
		id, out := fmt.Sprint(s.n), make(chan string, 100)
		if s.streams == nil {
			s.streams = map[string]chan string{}
		}
		s.streams[id] = out
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: /message?id=%s\n\n", id)
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case text := <-out:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
				if s.short && strings.Contains(text, `"tools"`) && !strings.Contains(text, "protocolVersion") {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
	}
	s.mu.Lock()
	out := s.streams[r.URL.Query().Get("id")]
	s.mu.Unlock()
	if out == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer := httptest.NewRecorder()
	s.scripted.ServeHTTP(answer, r)
	w.WriteHeader(http.StatusAccepted)
	if answer.Body.Len() > 0 {
		out <- answer.Body.String()
	}
}

// A server of HTTP+SSE that is down for six seconds causes one incident and two log lines. Calls
// succeed again as soon as it is back.
func TestServerOfSSEThatIsAway(t *testing.T) {
	s := &scriptedSSE{}
	m := newRestartable(t, s)
	host := mcptest.Start(t, webAt("http://"+m.address+"/sse"))
	clients := clientsOf(t, host)
	lines, all := len(serverLog(host)), strings.Count(host.Log(), "\n")
	m.stop()
	ended := time.Now()
	// A call sent before that would be in flight, with another outcome.
	eventually(t, "the host to see that the server is away", func() bool {
		return len(serverLog(host)) > lines
	})
	if is := failedCall(t, clients[0]); is.Incident == "" || is.RetryAfterMs <= 0 {
		t.Errorf("a call is told %+v", is)
	}
	time.Sleep(time.Until(ended.Add(6 * time.Second)))
	m.start()
	back := time.Now()
	for _, c := range clients {
		eventually(t, "a call succeeds", func() bool { return c.post(callT).message(t).Error == nil })
	}
	if took := time.Since(back); took > 2*time.Second {
		t.Errorf("all are back after %v", took)
	}
	if got := serverLog(host)[lines:]; len(got) != 2 || !strings.Contains(got[0], `"warn"`) ||
		!strings.Contains(got[1], `"upstream_ready"`) {
		t.Errorf("the log says %q", got)
	}
	if n := strings.Count(host.Log(), "\n") - all; n > 6 {
		t.Errorf("%d lines: %s", n, host.Log())
	}
}

// The host backs off if the streams of an HTTP+SSE server end as soon as they are open.
func TestServerOfSSEThatHangsUpAtOnce(t *testing.T) {
	s := &scriptedSSE{short: true}
	m := newRestartable(t, s)
	host := mcptest.Start(t, webAt("http://"+m.address+"/sse"))
	c := newWire(t, host.MCP+"/web/mcp", "")
	c.open("2025-11-25")
	c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	time.Sleep(8 * time.Second)
	t.Log(s.opened.Load(), serverLog(host))
	if n := s.opened.Load(); n > 20 {
		t.Errorf("%d streams were opened in 8 s", n)
	}
}
