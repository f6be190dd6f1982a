package streamable

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// unread is a connection with one answered request, which nobody reads: what the client sends next
// waits in the kernel.
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

// A connection is closed between two requests only: not while the answer is written, not soon after
// it, and not when the next request has arrived, even if nobody has read it yet.
func TestRetireClosesBetweenRequests(t *testing.T) {
	c := &Connections{}
	conn, client := unread(t, c)
	still := func(what string, quiet time.Duration) {
		t.Helper()
		if left, _ := c.Retire(quiet, false); left != 1 {
			t.Errorf("%s: %d connections are waited for, want 1", what, left)
		}
		client.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := client.Read(make([]byte, 1)); err == io.EOF {
			t.Fatalf("%s: closed", what)
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
	if left, open := c.Retire(0, true); left != 0 || open != 1 {
		t.Errorf("%d connections are waited for beside one whose answer ends it, and %d are busy", left, open)
	}
	conn.finish()
	c.track(conn, http.StateIdle)
	if left, _ := c.Retire(0, false); left != 0 {
		t.Errorf("%d connections are waited for after the last answer", left)
	}
	client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the last answer: %v, want the end", err)
	}
}

// The first request of a connection is waited for, but not to the last. Those of HTTP/2 are left alone.
func TestRetireWaitsForFirstRequests(t *testing.T) {
	c := &Connections{}
	conn, client := unread(t, c)
	conn.changed = time.Time{}
	conn.asked.Store(false)
	if left, _ := c.Retire(0, false); left != 1 {
		t.Errorf("%d newcomers are waited for, want 1", left)
	}
	conn.multiplexes = true
	if left, _ := c.Retire(0, true); left != 0 || conn.left {
		t.Errorf("a connection of HTTP/2: %d waited for, closed %t", left, conn.left)
	}
	conn.multiplexes = false
	if left, _ := c.Retire(0, true); left != 0 {
		t.Errorf("%d newcomers are waited for to the last", left)
	}
	client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a silent newcomer: %v, want the end", err)
	}
}
