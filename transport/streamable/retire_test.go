package streamable

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// unread returns a connection with one answered request that has no reader: the next input of the
// client waits in the kernel.
func unread(t *testing.T, c *Connections) (conn *connection, client net.Conn) {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	client = connect(t, socket.Addr().String())
	accepted, err := c.Listener(socket).Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn = accepted.(*connection)
	c.track(conn, http.StateNew)
	io.WriteString(client, "GET / HTTP/1.1\r\n\r\n")
	if _, err := conn.Read(make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	conn.begin(false)
	conn.finish()
	return conn, client
}

// A connection is closed only between two requests: not while the answer is written, not soon after
// it, and not when the next request has arrived, even if it was not read yet.
func TestRetireClosesBetweenRequests(t *testing.T) {
	c := &Connections{}
	conn, client := unread(t, c)
	still := func(label string, quiet time.Duration) {
		t.Helper()
		if remaining, _ := c.Retire(quiet, time.Second, false); remaining != 1 {
			t.Errorf("%s: %d connections are waited for, want 1", label, remaining)
		}
		client.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := client.Read(make([]byte, 1)); err == io.EOF {
			t.Fatalf("%s: closed", label)
		}
	}
	still("before the answer is written", 0)
	c.track(conn, http.StateIdle)
	still("soon after it", time.Hour)

	io.WriteString(client, "G")
	waitFor(t, func() bool { return arriving(conn.raw) })
	still("with a request that has arrived", 0)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	still("with a request that is read", 0)
	conn.begin(false)
	if remaining, open := c.Retire(0, time.Second, true); remaining != 0 || open != 1 {
		t.Errorf("%d connections are waited for beside one whose answer ends it, and %d are busy",
			remaining,
			open)
	}
	conn.finish()
	c.track(conn, http.StateIdle)
	if remaining, _ := c.Retire(0, time.Second, false); remaining != 0 {
		t.Errorf("%d connections are waited for after the last answer", remaining)
	}
	ends(t, client, "after the last answer")
}

// ends expects that a client receives the refusal of a request that it may have sent, and then the
// end.
func ends(t *testing.T, client net.Conn, label string) {
	t.Helper()
	client.SetReadDeadline(time.Now().Add(10 * time.Second))
	rest, err := io.ReadAll(client)
	if err != nil || !strings.HasPrefix(string(rest), "HTTP/1.1 408 ") {
		t.Errorf("%s: %v after %q, want a refusal and the end", label, err, rest)
	}
}

// Retire waits for the first request of a connection, but not with last. It leaves HTTP/2
// connections alone.
func TestRetireWaitsForFirstRequests(t *testing.T) {
	c := &Connections{}
	conn, client := unread(t, c)
	conn.changed = time.Time{}
	conn.asked.Store(false)
	if remaining, _ := c.Retire(0, time.Second, false); remaining != 1 {
		t.Errorf("%d newcomers are waited for, want 1", remaining)
	}
	conn.multiplexes = true
	if remaining, _ := c.Retire(0, time.Second, true); remaining != 0 || conn.left {
		t.Errorf("a connection of HTTP/2: %d waited for, closed %t", remaining, conn.left)
	}
	conn.multiplexes = false
	if remaining, _ := c.Retire(0, time.Second, true); remaining != 0 {
		t.Errorf("%d newcomers are waited for to the last", remaining)
	}
	ends(t, client, "a silent newcomer")
}

// A request that is sent while its connection ends is refused. Its client learns that nothing was
// executed, even if it is still sending a large body.
func TestRequestThatCrossesWithTheEndIsRefused(t *testing.T) {
	cert, key, pool := certificate(t)
	for name, test := range map[string]struct {
		size   int
		secure bool
	}{"without a body": {}, "with a large one": {size: 1 << 20}, "over TLS": {secure: true}} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			c := &Connections{}
			o := ServerOptions{
				Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					calls.Add(1)
				}), Connections: c,
			}
			if test.secure {
				o.Certificate = loaded(t, cert, key)
			}
			conn := connect(t, start(t, o, func(*http.Server) {}))
			if test.secure {
				conn = tls.Client(conn, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
			}
			answers := bufio.NewReader(conn)
			ask := func(size int) (*http.Response, error) {
				fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%*s", size, size, "")
				return http.ReadResponse(answers, nil)
			}
			if r, err := ask(0); err != nil || r.StatusCode != http.StatusOK {
				t.Fatal(r, err)
			}
			waitFor(t, func() bool { // until the answer is written, the connection is busy
				idle, open := c.Retire(0, 1500*time.Millisecond, false)
				return idle+open == 0
			})
			r, err := ask(test.size)
			if err != nil {
				t.Fatalf("%v, want an answer", err)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != http.StatusRequestTimeout ||
				r.Header.Get("Retry-After") != "2" || !r.Close ||
				!strings.Contains(string(body),
					`"message":"the host is stopping; no server received the request"`) {
				t.Errorf("got %d %v %q, %v", r.StatusCode, r.Header, body, err)
			}
			waitFor(t, func() bool { return c.Open() == 0 })
			if n := calls.Load(); n != 1 {
				t.Errorf("%d requests were served, want the one before", n)
			}
		})
	}
}
