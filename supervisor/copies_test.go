package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/gateway/config"
	"mcpd/internal/mcptest"
	"mcpd/protocol/splice"
)

// copied is the size of the large messages here, and copies how many of them there are at once.
const (
	copied = 3 << 20
	copies = 4
)

// far is a server behind a URL that keeps nothing of what it reads. It answers calls of these
// tools:
//
//	hold    when release says so
//	deaf    never, and does not read them
//	asks    of 2026-07-28: with a question for the user
//	big     with a large result
//	echo    at once
type far struct {
	modern bool

	mu      sync.Mutex // guards what follows
	release chan struct{}
	came    int // calls that were read, or will not be
}

const farTools = `[{"name":"hold","inputSchema":{"type":"object"}},{"name":"deaf","inputSchema":{"type":"object"}},{"name":"asks","inputSchema":{"type":"object"}},` +
	`{"name":"big","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]`

// beginning is so much of a request that its method and the tool's name are in it.
const beginning = 256

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	head := make([]byte, beginning)
	n, _ := io.ReadFull(r.Body, head)
	head = head[:n]
	id, _ := splice.Get(append(head, "}}}}"...), "id")
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
	of := func(method string) bool { return bytes.Contains(head, []byte(`"method":"`+method+`"`)) }
	tool := func(name string) bool { return bytes.Contains(head, []byte(`"name":"`+name+`"`)) }
	kind := ""
	if f.modern {
		kind = `"resultType":"complete",`
	}
	switch {
	case of("tools/call") && tool("deaf"):
		<-f.comes()
		return
	case of("tools/call"):
		_, _ = io.Copy(io.Discard, r.Body)
		released := f.comes()
		text := "y"
		switch {
		case tool("hold"):
			<-released
		case tool("big"):
			text = strings.Repeat("y", copied)
		case tool("asks"):
			answer(`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`)
			return
		}
		answer(`{` + kind + `"content":[{"type":"text","text":"` + text + `"}]}`)
	case of("server/discover") && f.modern:
		answer(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"far","version":"1"}}}`)
	case of("initialize") && !f.modern:
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}`)
	case of("tools/list") && f.modern:
		answer(`{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":` + farTools + `}`)
	case of("tools/list"):
		answer(`{"tools":` + farTools + `}`)
	case bytes.Contains(head, []byte(`"method":"notifications/`)):
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
	}
}

// comes counts a call, and returns what is closed when it is released.
func (f *far) comes() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.came++
	return f.release
}

// releases lets all calls go that have come.
func (f *far) releases() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.release)
	f.release, f.came = make(chan struct{}), 0
}

func (f *far) has(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.came == n
}

// near is a host with such servers, of either era, and its one tenant.
type near struct {
	*testing.T
	host *Running
	url  string
	far  map[string]*far
}

func copying(t *testing.T) *near {
	n := &near{T: t, far: map[string]*far{}}
	servers := ""
	for name, modern := range map[string]bool{"old": false, "new": true} {
		f := &far{modern: modern, release: make(chan struct{})}
		s := httptest.NewServer(f)
		t.Cleanup(s.Close)
		t.Cleanup(f.releases)
		n.far[name] = f
		servers += fmt.Sprintf("%s: {url: %q}, ", name, s.URL)
	}
	c, err := config.Load([]byte(`{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {acme: {servers: {`+servers+`}}}}`), config.Options{Builtins: Builtins})
	if err != nil {
		t.Fatal(err)
	}
	if n.host, err = Start(t.Context(), c, Options{Logger: slog.New(slog.DiscardHandler), Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.host.Run(ctx) }() // owner: this test, whose cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address, _ := n.host.Addrs()
	n.url = address
	return n
}

// copier is a client that keeps nothing either.
type copier struct {
	*near
	path    string
	modern  bool
	session string
}

const farCapabilities = `{"elicitation":{"form":{}}}`

// client is one at a path, of either era.
func (n *near) client(path string, modern bool) *copier {
	n.Helper()
	c := &copier{near: n, path: path, modern: modern}
	if modern {
		return c
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + farCapabilities + `,"clientInfo":{"name":"c","version":"1"}}}`
	resp, err := http.ReadResponse(bufio.NewReader(c.write("", [][]byte{[]byte(hello)})), nil)
	if err != nil {
		n.Fatal(err)
	}
	resp.Body.Close()
	c.session = resp.Header.Get("Mcp-Session-Id")
	c.write("", [][]byte{[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)})
	return c
}

// pad is what makes requests large; all share it.
var pad = []byte(strings.Repeat("x", copied))

// write sends a request over a connection of its own.
func (c *copier) write(tool string, body [][]byte) net.Conn {
	c.Helper()
	conn, err := net.Dial("tcp", c.url)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { conn.Close() })
	length := 0
	for _, part := range body {
		length += len(part)
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", c.path, length)
	switch {
	case c.modern:
		fmt.Fprintf(conn, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n", tool)
	case c.session != "":
		fmt.Fprintf(conn, "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n", c.session)
	}
	fmt.Fprint(conn, "\r\n")
	for _, part := range body {
		if _, err := conn.Write(part); err != nil {
			c.Fatal(err)
		}
	}
	return conn
}

// call calls a tool with large arguments, or small ones.
func (c *copier) call(tool string, large bool) net.Conn {
	c.Helper()
	meta := `{"progressToken":1}`
	if c.modern {
		meta = `{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + farCapabilities + `}`
	}
	body := [][]byte{[]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"pad":"`), pad, []byte(`"},"_meta":` + meta + `}}`)}
	if !large {
		body[1] = []byte("x")
	}
	return c.write(tool, body)
}

// answered calls a tool and reads the answer to its end.
func (c *copier) answered(tool string, large bool) {
	c.Helper()
	conn := c.call(tool, large)
	defer conn.Close()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10)); err != nil || !bytes.Contains(body, []byte(`"text":"y`)) {
		c.Fatalf("%s of %s: %d %.300s, %v", tool, c.path, resp.StatusCode, body, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}

// live is what is on the heap, and kept what of it is counted for the tenant.
func (n *near) live() (live, kept int64) {
	for range 3 { // what is pooled goes with the second collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, h := range n.host.Kept() {
		kept += h.Kept
	}
	return int64(m.HeapAlloc), kept
}

// rests waits until no more counts than before.
func (n *near) rests(counted int64) {
	n.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, kept := n.live()
		if kept <= counted+copied/2 {
			return
		}
		if time.Now().After(end) {
			n.Errorf("%d KiB count in the end", (kept-counted)>>10)
			return
		}
	}
}

// counts waits until so many large messages are in memory, and all that there is of them counts.
func (n *near) counts(before, counted int64, messages int, t *testing.T) {
	t.Helper()
	slack := int64(messages * 256 << 10) // connections, and what belongs to them
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		live, kept := n.live()
		live, kept = live-before, kept-counted
		if live >= int64(messages*copied)-slack && live <= kept+slack {
			t.Logf("%.2f of each are live, and %.2f count", float64(live)/float64(messages*copied), float64(kept)/float64(messages*copied))
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d KiB are live, and %d count", live>>10, kept>>10)
		}
	}
}

// ways are those of a call through the host.
func ways(each func(path, prefix, server string, modern bool)) {
	for _, modern := range []bool{false, true} {
		for _, server := range []string{"old", "new"} {
			each("/t/acme/"+server+"/mcp", "", server, modern)
			each("/t/acme/mcp", server+"__", server, modern)
		}
	}
}

// All that the host has in memory of large calls counts for their tenant, whoever waits for whom
// and whatever is said otherwise on the way.
func TestLargeCallsCountAllThatTheyKeep(t *testing.T) {
	n := copying(t)
	ways(func(path, prefix, server string, modern bool) {
		for _, tool := range []string{"hold", "deaf", "asks"} {
			n := n
			if tool == "asks" {
				if server == "old" || modern {
					continue // only the host of a legacy client keeps a call to a modern server that asks
				}
				n = copying(t)
			}
			t.Run(fmt.Sprintf("%s %s%s modern=%t", path, prefix, tool, modern), func(t *testing.T) {
				here := *n
				here.T = t
				c := here.client(path, modern)
				c.answered(prefix+"echo", false)
				before, counted := n.live()
				f := n.far[server]
				f.releases()
				for range copies {
					conn := c.call(prefix+tool, true)
					defer conn.Close()
				}
				if tool != "asks" { // which waits for its user
					defer here.rests(counted)
				}
				defer f.releases()
				for end := time.Now().Add(20 * time.Second); !f.has(copies); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("the calls do not come to the server")
					}
				}
				n.counts(before, counted, copies, here.T)
			})
		}
	})
}

// Large answers that nobody reads count, too.
func TestLargeAnswersCountAllThatTheyKeep(t *testing.T) {
	n := copying(t)
	ways(func(path, prefix, server string, modern bool) {
		t.Run(fmt.Sprintf("%s %s modern=%t", path, prefix, modern), func(t *testing.T) {
			here := *n
			here.T = t
			c := here.client(path, modern)
			c.answered(prefix+"big", false)
			before, counted := n.live()
			const unread = 8
			for range unread {
				conn := c.call(prefix+"big", false)
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
				defer conn.Close()
			}
			n.counts(before, counted, unread, here.T)
		})
	})
}

// A large call is in memory once, and once more for each time that something is said otherwise in
// it: names of the aggregate, and what belongs to the way to its server.
func TestLargeCallsAreSeldomCopied(t *testing.T) {
	if mcptest.Raced {
		t.Skip("pools keep less with the race detector")
	}
	n := copying(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would empty them, too
	ways(func(path, prefix, server string, modern bool) {
		t.Run(fmt.Sprintf("%s %s modern=%t", path, prefix, modern), func(t *testing.T) {
			here := *n
			here.T = t
			c := here.client(path, modern)
			c.answered(prefix+"echo", true)
			want := 2.0 // as it is read, and as it is written, with our progress token
			if prefix != "" {
				want++
			}
			runtime.GC()
			for range 2 { // fills the pools
				c.answered(prefix+"echo", true)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range copies {
				c.answered(prefix+"echo", true)
			}
			runtime.ReadMemStats(&after)
			got := float64(after.TotalAlloc-before.TotalAlloc) / copies / copied
			if t.Logf("%.2f of its size", got); got > want+0.75 { // a processor may lack what another has pooled
				t.Errorf("a call makes %.2f times its size, want %.0f", got, want)
			}
		})
	})
}
