package interop

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// startTwoTenants starts a host with two tenants. In the first tenant one server has no program,
// and one never answers.
func startTwoTenants(t *testing.T) *mcptest.Host {
	t.Helper()
	return mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
limits: {max_body: 128KiB, call_timeout: 5s, list_wait: 500ms}
tenants:
  acme:
    auth: {keys: [%s, %s]}
    servers:
      proc: %s
      mirror: %s
      dead: {command: /no/such/program}
      silent: {command: %q, args: [-silent]}
  zeta:
    auth: {keys: [%s]}
    servers: {proc: %s}
`, keyConfig("ann", "key-of-ann"), keyConfig("bob", "key-of-bob"), selfConfig(t, serveSDK, "proc"),
		selfConfig(t, serveRaw, "mirror"), mcptest.Server(t),
		keyConfig("zoe", "key-of-zoe"), selfConfig(t, serveSDK, "proc"))})
}

// bystander calls a tool again and again in its own session. The returned function stops it and
// reports every call that failed.
func bystander(t *testing.T, url, key, tool string) (stop func()) {
	t.Helper()
	c := dial(t, url, key)
	done, ended := make(chan struct{}), make(chan struct{})
	calls, wrong := 0, []string(nil)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			// The pause leaves the processor to the clients under test.
			case <-time.After(time.Millisecond):
			}
			calls++
			text := fmt.Sprint("call ", calls)
			r, err := c.CallTool(t.Context(), toolCall(tool, text))
			if err != nil || r.IsError || mcptest.Text(t, r) != text {
				wrong = append(wrong, fmt.Sprint(text, ": ", r, err))
			}
		}
	}()
	return func() {
		t.Helper()
		close(done)
		<-ended
		if len(wrong) > 0 || calls == 0 {
			t.Errorf("bystander %s: %d of %d calls went wrong: %.1000q", key, len(wrong), calls, wrong)
		}
		t.Logf("bystander %s: %d calls", key, calls)
	}
}

// A client that sends something wrong gets an error that says precisely what was wrong, and no
// other client is affected. Two bystanders, one of the same tenant and one of another, make calls
// without an error all the while. The client's own session continues.
func TestBadInput(t *testing.T) {
	host := startTwoTenants(t)
	stops := []func(){
		bystander(t, host.MCP+"/t/acme/proc/mcp", "key-of-bob", "echo"),
		bystander(t, host.MCP+"/t/zeta/mcp", "key-of-zoe", "proc__echo"),
	}
	ann := newWire(t, host.MCP+"/t/acme/mcp", "key-of-ann")
	ann.open("2025-11-25")
	slow := make(chan string, 1)
	go func() { slow <- trickle(host.MCP, ann.header) }()
	tables := []struct {
		name string
		rows []bad
	}{
		{"message", badMessages}, {"call", badCalls}, {"session", badSessions}, {"request", badRequests},
		{"path", pathRows()},
	}
	for _, table := range tables {
		for _, row := range table.rows {
			t.Run(table.name+"/"+row.name, func(t *testing.T) {
				ann.t = t
				ann.ask(host.MCP, row.ask).check(t, row.want)
				ann.ask(host.MCP, ping()).check(t, "200 result")
			})
		}
	}
	ann.t = t
	if got := <-slow; !strings.HasPrefix(got, "HTTP/1.1 408 ") {
		t.Errorf("a body that trickles: %q, want 408", got)
	}
	ann.ask(host.MCP, call("tools/call",
		`{"name":"proc__echo","arguments":{"text":"still here"}}`)).check(t, "200 result")
	ann.close()
	for _, stop := range stops {
		stop()
	}
}

// ask sends the request of a table row.
func (w *wire) ask(base string, a ask) reply {
	w.t.Helper()
	method, target := a.method, w.url
	if method == "" {
		method = http.MethodPost
	}
	if a.path != "" {
		target = base + a.path
	}
	return w.do(method, target, a.body, a.headers...)
}

func pathRows() (rows []bad) {
	for _, path := range badPaths {
		rows = append(rows, bad{url.PathEscape(path), pathRequest(path), "404 -32600 no such server"})
	}
	return rows
}

// trickle sends a request whose body never ends, and returns the first line of the answer.
func trickle(base string, header http.Header) string {
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	head := "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
	for name, values := range header {
		head += name + ": " + values[0] + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n{"); err != nil {
		return err.Error()
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	buffer := make([]byte, 512)
	n, err := conn.Read(buffer)
	return fmt.Sprintf("%s%v", buffer[:n], err)
}

// raw are requests that no HTTP library would send. The host refuses each of them and closes its
// connection.
var raw = []struct{ name, text, want string }{
	{"two lengths", "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
		"1\r\nContent-Length: 2\r\n\r\n{}", "400"},
	{"length and chunks", "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
		"4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
	{"unknown transfer encoding",
		"POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n", "501"},
	{"folded header", "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", "4"},
	{"space before the colon",
		"POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization : x\r\n\r\n", "400"},
	{"bare carriage return", "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", "400"},
	{"no host", "POST /t/acme/mcp HTTP/1.1\r\n\r\n", "400"},
	{"two hosts", "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "400"},
	{"host with a zone", "POST /t/acme/mcp HTTP/1.1\r\nHost: [::1%25eth0]\r\n\r\n", "403"},
	{"another host in the target",
		"POST http://evil.example/t/acme/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "403"},
	{"a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", "403"},
	{"no HTTP at all", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n", "400"},
	{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "4"},
	{"chunk that is no chunk",
		"POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\nAuthorization: Bearer key-of-ann\r\nTransfer-Encoding: " +
			"chunked\r\n\r\nzz\r\n", "400"},
}

func TestRequestsThatNoLibrarySends(t *testing.T) {
	host := startTwoTenants(t)
	for _, row := range raw {
		t.Run(row.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(host.MCP, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, row.text); err != nil {
				t.Fatal(err)
			}
			buffer := make([]byte, 4096)
			n, err := conn.Read(buffer)
			if got := string(buffer[:n]); !strings.HasPrefix(got, "HTTP/1.1 "+row.want) {
				t.Errorf("answer = %q, %v, want %s", got, err, row.want)
			}
		})
	}
}
