package scale

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolsPerServer is the number of tools of each server.
const toolsPerServer = 10

// servers are scripted MCP servers over Streamable HTTP, all behind one listener. A server
// answers initialize only after allowStart.
type servers struct {
	n    int
	base string // URL without the number of a server
	gone context.Context

	mayAnswer    []chan struct{} // for each server: closed when the server may answer initialize
	toolsChanged []chan struct{} // for each server: gets a value when its tools have changed

	mu      sync.Mutex     // guards the fields below
	version []int          // of each server's tools
	listed  map[string]int // number of answered lists, by method
	last    time.Time      // time of the last answer
}

// startServers starts n servers.
func startServers(t *testing.T, n int) *servers {
	t.Helper()
	gone, end := context.WithCancel(context.Background())
	s := &servers{n: n, gone: gone, listed: map[string]int{}, version: make([]int, n)}
	for range n {
		s.mayAnswer = append(s.mayAnswer, make(chan struct{}))
		s.toolsChanged = append(s.toolsChanged, make(chan struct{}, 1))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://" + l.Addr().String() + "/"
	web := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	// owner: the test, which waits for it below
	go func() {
		defer close(done)
		_ = web.Serve(l) // it ends with Close
	}()
	t.Cleanup(func() { end(); _ = web.Close(); <-done })
	return s
}

// config declares all servers in one tenant, with one more limit.
func (s *servers) config(limit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "limits: {start_timeout: 10m, %s}\ntenants:\n  default:\n    servers:\n", limit)
	for i := range s.n {
		fmt.Fprintf(&b, "      %s: {url: %q}\n", nameOf(i), s.base+strconv.Itoa(i))
	}
	return b.String()
}

func nameOf(i int) string { return fmt.Sprintf("s%04d", i) }

// allowStart lets a server answer initialize.
func (s *servers) allowStart(i int) { close(s.mayAnswer[i]) }

// allowAllStarts lets all servers answer initialize. None may have been let go before.
func (s *servers) allowAllStarts() {
	for i := range s.n {
		s.allowStart(i)
	}
}

// change replaces a tool of a server. The server announces the change.
func (s *servers) change(i int) {
	s.mu.Lock()
	s.version[i]++
	s.mu.Unlock()
	s.toolsChanged[i] <- struct{}{}
}

// answered returns how many lists of a method were answered.
func (s *servers) answered(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed[method]
}

// lastList returns when the last list was answered.
func (s *servers) lastList() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *servers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	switch {
	case err != nil || i >= s.n:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPost:
		s.post(w, r, i)
	case r.Method == http.MethodGet:
		s.stream(w, r, i)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// stream sends notifications of changes until its client leaves.
func (s *servers) stream(w http.ResponseWriter, r *http.Request, i int) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.Flush() // if the client has left, the loop ends
	for {
		select {
		case <-s.toolsChanged[i]:
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			_ = out.Flush() // as above
		case <-r.Context().Done():
			return
		case <-s.gone.Done():
			return
		}
	}
}

func (s *servers) post(w http.ResponseWriter, r *http.Request, i int) {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "initialize" {
		select {
		case <-s.mayAnswer[i]:
		case <-r.Context().Done():
			return
		case <-s.gone.Done():
			return
		}
		w.Header().Set("Mcp-Session-Id", nameOf(i))
	}
	w.Header().Set("Content-Type", "application/json")
	result, ok := s.result(m.Method, i)
	if !ok {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`,
			m.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if strings.HasSuffix(m.Method, "/list") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listed[m.Method]++
		s.last = time.Now()
	}
}

// result returns a server's result for a method.
func (s *servers) result(method string, i int) (string, bool) {
	switch method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},` +
			`"prompts":{"listChanged":true},"resources":{"listChanged":true}},"serverInfo":{"name":"` +
			nameOf(i) + `","version":"1"}}`, true
	case "ping":
		return `{}`, true
	case "tools/list":
		return `{"tools":[` + strings.Join(s.tools(i), ",") + `]}`, true
	case "prompts/list":
		return `{"prompts":[{"name":"greet"}]}`, true
	case "resources/list":
		return fmt.Sprintf(`{"resources":[{"uri":"test://%s","name":"x"}]}`, nameOf(i)), true
	case "resources/templates/list":
		return `{"resourceTemplates":[]}`, true
	}
	return "", false
}

// tools returns the tools of a server. A change replaces one of them.
func (s *servers) tools(i int) (list []string) {
	s.mu.Lock()
	version := s.version[i]
	s.mu.Unlock()
	for k := range toolsPerServer - 1 {
		list = append(
			list,
			fmt.Sprintf(`{"name":"t%d","description":"Does %d of %d.","inputSchema":{"type":"object"}}`, k,
				k, i),
		)
	}
	return append(list, fmt.Sprintf(`{"name":"v%d","inputSchema":{"type":"object"}}`, version))
}
