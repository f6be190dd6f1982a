package interop

import (
	"encoding/json"
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

	"mcpd/internal/mcptest"
)

// mortal is a server at a URL that can be ended and started again at the same port, and counts the
// connections that it was asked for while it was away.
type mortal struct {
	t       *testing.T
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
}

func newMortal(t *testing.T, h http.Handler) *mortal {
	t.Helper()
	m := &mortal{t: t, handler: h, address: "127.0.0.1:0"}
	m.start()
	t.Cleanup(m.end)
	return m
}

// start serves. The port is the one of before.
func (m *mortal) start() {
	m.t.Helper()
	listener, err := net.Listen("tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.address, m.server = listener.Addr().String(), &http.Server{Handler: m.handler}
	server := m.server
	go func() { _ = server.Serve(listener) }() // owner: the test: it ends with end
}

// end cuts all connections, and refuses new ones.
func (m *mortal) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		_ = m.server.Close()
		m.server = nil
	}
}

// scripted is a Streamable HTTP server with one tool, "t". With sessions it knows those of its own
// time only, and has a stream for each.
type scripted struct {
	sessions bool
	stream   http.HandlerFunc // of GET; nil for 405
	began    atomic.Int64     // sessions, of all its lives
	life     atomic.Int64
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
	if id := r.Header.Get("Mcp-Session-Id"); s.sessions && m.Method != "initialize" && !strings.HasPrefix(id, prefix) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		n := s.began.Add(1)
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

// open is a stream that says nothing.
func open(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": open\n\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

const callT = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}`

const callWebT = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"web__t","arguments":{}}}`

// story is what the log says of servers, without what is for debugging.
func story(host *mcptest.Host) (lines []string) {
	for line := range strings.Lines(host.Log()) {
		var l struct{ Level, Event string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Level != "debug" && strings.HasPrefix(l.Event, "upstream") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// told is what the data of an error says.
type told struct {
	Reason, Incident, Cause string
	RetryAfterMs            int64
	MaybeExecuted           bool
}

// refusedCall makes a call that is to fail, and returns what its caller is told.
func refusedCall(t *testing.T, c *wire) (is told) {
	t.Helper()
	m := c.post(callT).message(t)
	if m.Error == nil {
		t.Fatalf("the call succeeds: %s", m.Result)
	}
	if err := json.Unmarshal(m.Error.Data, &is); err != nil {
		t.Fatal(err)
	}
	return is
}

// clientsOf are three clients of the server "web" that have called it.
func clientsOf(t *testing.T, host *mcptest.Host) (clients []*wire) {
	t.Helper()
	for range 3 {
		c := newWire(t, host.MCP+"/web/mcp", "")
		c.open("2025-11-25")
		if got := string(c.post(callT).result(t, "content")); !strings.Contains(got, "done") {
			t.Fatal(got)
		}
		clients = append(clients, c)
	}
	return clients
}

// served is the host's word on the server "web".
func served(t *testing.T, host *mcptest.Host) string {
	t.Helper()
	return string(newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/servers", "").body)
}

func webAt(url string) mcptest.HostOptions {
	return mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: {web: {url: %q}}}}\n", url)}
}

// A server behind a URL that refuses connections is in backoff, with one warning and one incident;
// calls name the incident and say when to come back, and it is ready again soon after it is.
func TestServerThatRefusesConnections(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sessions bool
		stream   http.HandlerFunc
	}{{"with sessions", true, open}, {"without a stream", true, nil}, {"without sessions", false, nil}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{sessions: tt.sessions, stream: tt.stream}
			m := newMortal(t, s)
			host := mcptest.Start(t, webAt("http://"+m.address+"/mcp"))
			clients := clientsOf(t, host)
			before := len(story(host))
			m.end()
			s.life.Add(1)
			var incidents []string
			for _, c := range clients {
				is := refusedCall(t, c)
				if is.Reason != "upstream_lost" || is.RetryAfterMs <= 0 || is.MaybeExecuted || is.Incident == "" {
					t.Errorf("a call is told %+v", is)
				}
				incidents = append(incidents, is.Incident)
			}
			if slices.Sort(incidents); len(slices.Compact(incidents)) != 1 {
				t.Errorf("incidents: %q", incidents)
			}
			if up := metric(t, host, "mcpd_upstream_up"); up != 0 {
				t.Errorf("mcpd_upstream_up is %v", up)
			}
			if is := served(t, host); !strings.Contains(is, `"backoff"`) || !strings.Contains(is, "connection refused") || !strings.Contains(is, incidents[0]) {
				t.Errorf("the server is shown as %s", is)
			}
			if lines := story(host)[before:]; len(lines) != 1 || !strings.Contains(lines[0], `"level":"warn"`) || !strings.Contains(lines[0], incidents[0]) {
				t.Errorf("the log says %q", lines)
			}
			late := newWire(t, host.MCP+"/mcp", "")
			late.open("2025-11-25")
			for range 2 { // two that its connection refuses
				late.post(callWebT)
			}
			m.start()
			for i, c := range clients {
				eventually(t, "a call succeeds", func() bool { return c.post(callT).message(t).Error == nil })
				if up := metric(t, host, "mcpd_upstream_up"); up != 1 {
					t.Errorf("call %d: mcpd_upstream_up is %v", i, up)
				}
			}
			if lines := story(host)[before:]; len(lines) != 2 || !strings.Contains(lines[1], `"upstream_ready"`) {
				t.Errorf("the log says %q", lines)
			}
			if !tt.sessions { // all use one connection, which has the call
				return
			}
			host.Stop()
			if lines := rejected(host); len(lines) != 1 || !strings.Contains(lines[0], `"server":"web"`) ||
				!strings.Contains(lines[0], `"name":"web__t"`) || !strings.Contains(lines[0], `"address":"127.0.0.1:`) ||
				!strings.Contains(lines[0], `"suppressed":`) || !strings.Contains(lines[0], incidents[0]) {
				t.Errorf("no line says which call was rejected last, whose and for which incident, and counts: %q", lines)
			}
		})
	}
}

// rejected are the lines of the log of requests that were rejected.
func rejected(host *mcptest.Host) []string {
	return slices.DeleteFunc(strings.Split(host.Log(), "\n"), func(line string) bool {
		return !strings.Contains(line, `"event":"rejected"`)
	})
}

// Calls wait for a server that is back within a moment, and nobody is told that it was away. What a
// server keeps in its session is kept when only its port was closed for a while.
func TestCallsWaitForAServerThatIsBackSoon(t *testing.T) {
	s := &scripted{sessions: true, stream: open}
	m := newMortal(t, s)
	host := mcptest.Start(t, webAt("http://"+m.address+"/mcp"))
	c := clientsOf(t, host)[0]
	began := s.began.Load()
	m.end()
	back := time.AfterFunc(time.Second, m.start)
	defer back.Stop()
	if got := string(c.post(callT).result(t, "content")); !strings.Contains(got, "done") {
		t.Error(got)
	}
	if n := s.began.Load() - began; n != 0 {
		t.Errorf("%d sessions were begun anew with a server that knows the old ones", n)
	}
}

// scriptedSSE is the same server over HTTP+SSE, at /sse.
type scriptedSSE struct {
	scripted
	mu      sync.Mutex
	streams map[string]chan string
	n       int
	opened  atomic.Int64
	short   bool // each stream ends as soon as its client has shaken hands
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

// A server of HTTP+SSE that is away for six seconds is one incident and two lines, and is back at once.
func TestServerOfSSEThatIsAway(t *testing.T) {
	s := &scriptedSSE{}
	m := newMortal(t, s)
	host := mcptest.Start(t, webAt("http://"+m.address+"/sse"))
	clients := clientsOf(t, host)
	lines, all := len(story(host)), strings.Count(host.Log(), "\n")
	m.end()
	ended := time.Now()
	// A call before that is one in flight, which has another outcome.
	eventually(t, "the host to see that the server is away", func() bool { return len(story(host)) > lines })
	if is := refusedCall(t, clients[0]); is.Incident == "" || is.RetryAfterMs <= 0 {
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
	if got := story(host)[lines:]; len(got) != 2 || !strings.Contains(got[0], `"warn"`) || !strings.Contains(got[1], `"upstream_ready"`) {
		t.Errorf("the log says %q", got)
	}
	if n := strings.Count(host.Log(), "\n") - all; n > 6 {
		t.Errorf("%d lines: %s", n, host.Log())
	}
}

// A server of HTTP+SSE whose stream ends whenever it is open is dialled less and less often.
func TestServerOfSSEThatHangsUpAtOnce(t *testing.T) {
	s := &scriptedSSE{short: true}
	m := newMortal(t, s)
	host := mcptest.Start(t, webAt("http://"+m.address+"/sse"))
	c := newWire(t, host.MCP+"/web/mcp", "")
	c.open("2025-11-25")
	c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	time.Sleep(8 * time.Second)
	t.Log(s.opened.Load(), story(host))
	if n := s.opened.Load(); n > 20 {
		t.Errorf("%d streams were opened in 8 s", n)
	}
}

// A program that never completes its handshake is started for those who ask, less and less often, and what it
// printed is the cause wherever one is shown.
func TestProgramThatNeverShakesHands(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: `tenants: {default: {servers: {web: {command: sh, args: [-c, "echo Listening on port 3000; echo oops >&2; exec sleep 1000"], start_timeout: 1s}}}}` + "\n"})
	const printed = `Listening on port 3000`
	c := newWire(t, host.MCP+"/mcp", "")
	c.open("2025-11-25")
	is := c.post(callWebT).message(t)
	if is.Error == nil || !strings.Contains(is.Error.Message, printed) || !strings.Contains(string(is.Error.Data), "oops") {
		t.Fatalf("the call is told %+v", is.Error)
	}
	if shown := served(t, host); !strings.Contains(shown, printed) || !strings.Contains(shown, `"crash_loop"`) {
		t.Errorf("shown as %s", shown)
	}
	if tree := string(newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/tree", "").body); !strings.Contains(tree, printed) {
		t.Errorf("the tree says %s", tree)
	}
	starts := func() int { return strings.Count(host.Log(), `"event":"upstream_starting"`) }
	before := starts()
	time.Sleep(4 * time.Second)
	if n := starts() - before; n != 0 {
		t.Errorf("it was started %d times for nobody", n)
	}
	for range 3 {
		eventually(t, "it is tried again", func() bool {
			n := starts()
			c.post(callWebT)
			return starts() > n
		})
	}
	if shown := strings.Join(story(host), "\n"); !strings.Contains(shown, printed) {
		t.Errorf("the log does not say why: %s", shown)
	}
}

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
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, m.ID, said)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	b.scripted.ServeHTTP(w, r)
}

// A server that asks on the streams of all its sessions gets the answer of the client that it means, and no
// refusal of a connection that has nobody to ask.
func TestServerThatAsksOnAllItsStreams(t *testing.T) {
	b := &broadcaster{scripted: scripted{sessions: true}, streams: map[chan string]bool{}, answer: make(chan string, 1)}
	m := newMortal(t, b)
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
