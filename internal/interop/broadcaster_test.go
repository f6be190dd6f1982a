package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// broadcaster asks on the streams of all its sessions, and takes the first answer.
type broadcaster struct {
	scripted
	mu      sync.Mutex
	streams map[chan string]bool
	answer  chan string
}

func (b *broadcaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		out := make(chan string, 10)
		b.mu.Lock()
		b.streams[out] = true
		b.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case text := <-out:
				fmt.Fprintf(w, "data: %s\n\n", text)
			case <-r.Context().Done():
				return
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	switch {
	case strings.Contains(string(body), `"id":"q`): // an answer
		select {
		case b.answer <- string(body):
		default:
		}
		w.WriteHeader(http.StatusAccepted)
		return
	case strings.Contains(string(body), `"tools/call"`):
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal(body, &m)
		b.mu.Lock()
		for out := range b.streams {
			out <- `{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`
		}
		b.mu.Unlock()
		said, _ := json.Marshal(<-b.answer)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, m.ID,
			said)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	b.scripted.ServeHTTP(w, r)
}

// A server that asks on the streams of all its sessions gets the answer of the client whose call it
// serves. It gets no refusal from a connection that has no client to ask.
func TestServerThatAsksOnAllItsStreams(t *testing.T) {
	b := &broadcaster{
		scripted: scripted{sessions: true}, streams: map[chan string]bool{}, answer: make(chan string, 1),
	}
	m := newRestartable(t, b)
	host := mcptest.Start(t, webAt("http://"+m.address+"/mcp"))
	c := dialIn(t, legacy, host.MCP+"/mcp", "")
	for range 3 {
		if got := c.call("web__t", nil); !strings.Contains(got, "for who?") {
			t.Fatalf("the server was answered %s", got)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.streams) < 2 {
		t.Errorf("%d streams: that shows nothing", len(b.streams))
	}
}
