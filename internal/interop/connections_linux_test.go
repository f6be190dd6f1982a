package interop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/internal/mcptest"
)

// startWithFileLimit starts the release binary with two tenants, and limits the number of its open
// files.
func startWithFileLimit(t *testing.T, files int, limits string) *mcptest.Host {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "cramped")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", files, mcptest.Mcpd(t))
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return mcptest.Start(t, mcptest.HostOptions{Binary: binary, Config: fmt.Sprintf(`
limits: {list_wait: 500ms%s}
tenants:
  acme:
    auth: {keys: [%s]}
    servers: {proc: %s}
  initech:
    auth: {keys: [%s]}
    servers: {proc: %s}
`, limits, keyConfig("ann", "key-of-ann"), selfConfig(t, serveSDK, "proc"),
		keyConfig("zoe", "key-of-zoe"),
		selfConfig(t, serveSDK, "proc"))})
}

const echoCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"proc__echo","arguments":{"text":"here"}}}`

// waitingStream opens a GET stream on its own connection.
func waitingStream(t *testing.T, w *wire) (io.ReadCloser, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = w.header.Clone()
	r.Header.Del("Content-Type")
	response, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%d %s", response.StatusCode, text)
	}
	return response.Body, nil
}

// One tenant opens more streams than the host has descriptors. None of the tenant's running calls
// ends. The other tenant is served on new connections all the while. The oldest streams end with a
// retry delay. /readyz says why the host is degraded, and which tenant has the streams.
func TestConnectionsEndOfOneTenant(t *testing.T) {
	const files = 400
	host := startWithFileLimit(t, files, "")
	caller := newWire(t, host.MCP+"/t/acme/mcp", "key-of-ann")
	caller.open("2025-11-25")
	ended := make(chan reply, 1)
	go func() {
		ended <- caller.post(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"proc__wait","arguments":{"text":"x"}}}`)
	}()

	var acme *wire
	var streams []io.ReadCloser
	for len(streams) < files+100 {
		if len(streams)%8 == 0 { // as many as a session may have
			acme = newWire(t, host.MCP+"/t/acme/mcp", "key-of-ann")
			acme.open("2025-11-25")
		}
		s, err := waitingStream(t, acme)
		if err != nil {
			t.Fatalf("stream %d: %v", len(streams), err)
		}
		streams = append(streams, s)
		if len(streams)%20 != 0 {
			continue
		}
		other := newWire(t, host.MCP+"/t/initech/mcp", "key-of-zoe")
		other.open("2025-11-25")
		if r := other.post(echoCall); r.status != http.StatusOK ||
			!strings.Contains(string(r.body), "here") {
			t.Errorf("the other tenant after %d streams: %d %s", len(streams), r.status, r.body)
		}
	}
	if text, err := io.ReadAll(streams[0]); err != nil || !strings.Contains(string(text), "retry: ") {
		t.Errorf("the oldest stream: %q, %v", text, err)
	}
	admin := newWire(t, host.Admin, "")
	if r := admin.do(http.MethodGet, host.Admin+"/readyz", ""); r.status != http.StatusOK ||
		!strings.Contains(string(r.body), "degraded") ||
		!strings.Contains(string(r.body), "tenant acme has") {
		t.Errorf("readyz: %d %s", r.status, r.body)
	}
	select {
	case r := <-ended:
		t.Errorf("the running call ended: %d %s", r.status, r.body)
	default:
	}
	caller.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	if r := <-ended; r.status != http.StatusOK {
		t.Errorf("the call was ended otherwise than by its client: %d %s", r.status, r.body)
	}
}

// Incomplete request heads of connections without a key do not affect clients with a key, on a host
// with little memory: no call fails, and calls take hardly longer. This is the short form of 18,000
// heads in 60 s.
func TestHoardedHeadsCostNobodyElse(t *testing.T) {
	const hoarded = 3000
	host := startWithFileLimit(t, 20000, ", memory: 256MiB")
	var raised unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &raised); err != nil || raised.Cur < hoarded+500 {
		t.Skipf("this process may open %d files only: %v", raised.Cur, err)
	}
	address := strings.TrimPrefix(host.MCP, "http://")
	calls := func(n int) (took []time.Duration) {
		t.Helper()
		w := newWire(t, host.MCP+"/t/initech/mcp", "key-of-zoe")
		w.open("2025-11-25")
		for i := range n {
			start := time.Now()
			if i%10 == 0 { // on a new connection
				w.carrier.(*http.Transport).CloseIdleConnections()
			}
			if r := w.post(echoCall); r.status != http.StatusOK ||
				!strings.Contains(string(r.body), "here") {
				t.Fatalf("call %d: %d %s", i, r.status, r.body)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took
	}
	calls(50)
	before := calls(500)

	head := "GET /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\n" +
		strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 28)
	var hoarders sync.WaitGroup
	conns := make(chan net.Conn, hoarded)
	for range 10 {
		hoarders.Go(func() {
			for range hoarded / 10 {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Errorf("a half head: %v", err)
					return
				}
				_, _ = io.WriteString(conn, head) // the host may have closed it already
				conns <- conn
				time.Sleep(30 * time.Millisecond) // about 300 a second, like 18,000 in 60 s
			}
		})
	}
	during := calls(500)
	hoarders.Wait()
	after := calls(500)
	close(conns)
	open := 0
	for conn := range conns {
		conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := bufio.NewReader(conn).ReadByte(); os.IsTimeout(err) {
			open++
		}
		conn.Close()
	}
	p99 := func(took []time.Duration) time.Duration { return took[len(took)*99/100] }
	t.Logf("p99 before %v, while heads come %v, while they are held %v; %d of %d are open",
		p99(before), p99(during), p99(after), open, hoarded)
	if open > 600 {
		t.Errorf("%d of %d half heads are open, of 16 MiB and about 70 KiB each", open, hoarded)
	}
}
