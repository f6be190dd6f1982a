package interop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// cutter relays connections to an address, and can cut all open ones.
type cutter struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, open: map[net.Conn]struct{}{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { c.relay(in, to) })
		}
	})
	t.Cleanup(func() { l.Close(); c.cut(); all.Wait() })
	return c
}

func (c *cutter) relay(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	c.mu.Lock()
	c.open[in] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, in)
	}()
	back := make(chan struct{})
	go func() { // owner: relay, which waits for this goroutine
		_, _ = io.Copy(in, out)
		in.Close()
		close(back)
	}()
	_, _ = io.Copy(out, in)
	out.Close()
	<-back
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for in := range c.open {
		in.Close()
	}
}

// lineClient is a script that reads commands line by line, and prints its results line by line.
type lineClient struct {
	t    *testing.T
	in   io.Writer
	said chan string
}

// runLines starts a script.
func runLines(t *testing.T, script string, args ...string) *lineClient {
	t.Helper()
	node := exec.Command("node", append([]string{mcptest.ScriptFile(t, script)}, args...)...)
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	node.Stderr = &stderr
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	c := &lineClient{t, in, make(chan string, 1000)}
	ended := make(chan struct{})
	go func() { // owner: the cleanup, which waits for this goroutine
		defer close(ended)
		defer close(c.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.said <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		fmt.Fprintln(in, "end")
		in.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = node.Process.Kill() })
		defer late.Stop()
		<-ended
		if err := node.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, stderr.String())
		}
	})
	return c
}

func (c *lineClient) do(line string) { fmt.Fprintln(c.in, line) }

// until reads until a line has the given prefix, and returns the line.
func (c *lineClient) until(start string) string {
	c.t.Helper()
	var before []string
	for timeout := time.After(30 * time.Second); ; {
		select {
		case line, ok := <-c.said:
			if strings.HasPrefix(line, start) {
				return line
			}
			if before = append(before, line); !ok {
				c.t.Fatalf("it ended without %q, after %q", start, before)
			}
		case <-timeout:
			c.t.Fatalf("it does not say %q, but %q", start, before)
		}
	}
}

// An HTTP+SSE client continues when its stream is cut, and when the host is killed and comes back.
// Its requests in between are answered, and its call in flight at the kill fails with the reason.
func TestTypeScriptClientOverHTTPSSEGoesOn(t *testing.T) {
	mcptest.Modules(t)
	config := fmt.Sprintf("tenants: {default: {servers: {past: %s}}}\n",
		selfConfig(t, serveOld, "past"))
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	relay := newCutter(t, strings.TrimPrefix(host.MCP, "http://"))
	c := runLines(t, "testdata/sse.mjs", "http://"+relay.Addr().String()+"/past/sse", "")
	c.until("ready")
	c.do("call echo one")
	c.until("echo one")
	for _, text := range []string{"two", "three", "four"} {
		relay.cut()
		c.do("call echo " + text)
		c.until("echo " + text)
	}
	c.do("start wait x")
	c.until("started")
	time.Sleep(time.Second) // for the call to be saved
	host.Kill()
	host = restart(t, host, config)
	if got := c.until("wait "); !strings.Contains(got, "restarted") {
		t.Errorf("the call in flight came to %q", got)
	}
	c.do("call echo five")
	c.until("echo five")
	if strings.Contains(host.Log(), "panic") {
		t.Error("it panicked")
	}
}

// If a proxy strips a prefix from the path, clients post to a URL with the prefix.
func TestHTTPSSEBehindAPrefix(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: "tenants: {default: {servers: {s: {builtin: demo}}}}\n",
	})
	to, err := url.Parse(host.MCP)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
	}}
	at := listen(t, http.StripPrefix("/deep/prefix", proxy))
	for _, path := range []string{"/deep/prefix/s/sse", "/deep/prefix/s/sse/"} {
		c := dialSSE(t, at+path, "")
		if got := c.call("echo", map[string]any{"text": "x", "message": "x"}); !strings.Contains(got,
			"x") {
			t.Errorf("%s: Go got %q", path, got)
		}
	}
	mcptest.Modules(t)
	c := runLines(t, "testdata/sse.mjs", at+"/deep/prefix/s/sse", "")
	c.until("ready")
	c.do("call echo one")
	c.until("echo one")
}
