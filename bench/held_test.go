package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// openers is how many sessions are opened at a time: enough to keep two cores busy.
const openers = 16

// spareFiles are those that a process needs beside its sessions' connections: listeners, pipes, libraries.
const spareFiles = 256

// affordable is how many connections this process and its children may hold, at most want. Go raises the soft limit itself.
func affordable(t *testing.T, want int) int {
	t.Helper()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if files.Max < uint64(want)+spareFiles {
		want = int(files.Max) - spareFiles
		t.Logf("only %d sessions: the limit of open files is %d", want, files.Max)
	}
	return want
}

// use is what a session does before it is idle, beside its handshake.
type use struct {
	stream bool // it opens the standing stream
	call   bool // it calls a tool once
}

// holdSessions opens n sessions, each over a connection of its own which stays open until the test ends.
func holdSessions(t *testing.T, endpoint string, n int, u use) {
	t.Helper()
	where, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	connections, failures := make([]net.Conn, n), make([]error, openers)
	t.Cleanup(func() {
		for _, c := range connections {
			if c != nil {
				_ = c.Close()
			}
		}
	})
	var all sync.WaitGroup
	for worker := range openers {
		all.Go(func() {
			o := opener{url: where, use: u, in: bufio.NewReader(nil)}
			for i := worker; i < n && failures[worker] == nil; i += openers {
				connections[i], failures[worker] = o.open()
			}
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// opener opens one session after another. It is written by hand because net/http's client would keep two goroutines for each.
type opener struct {
	use
	url *url.URL
	in  *bufio.Reader
}

// open connects, shakes hands and does what else the session is for, all on the same connection.
func (o *opener) open() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", o.url.Host, patience)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return conn, err
	}
	o.in.Reset(conn)
	head, err := o.send(conn, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+initializeParams+`}`)
	if err != nil {
		return conn, err
	}
	session := head.Get("Mcp-Session-Id")
	if session == "" {
		return conn, fmt.Errorf("initialize: no session id in %v", head)
	}
	if _, err := o.send(conn, "POST", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return conn, err
	}
	if o.call {
		if _, err := o.send(conn, "POST", session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+callParams+`}`); err != nil {
			return conn, err
		}
	}
	if o.stream {
		if _, err := o.send(conn, "GET", session, ""); err != nil {
			return conn, err
		}
	}
	return conn, conn.SetDeadline(time.Time{})
}

// send makes one request and reads its response; of a stream no more than the head.
func (o *opener) send(conn net.Conn, method, session, body string) (http.Header, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\n", method, o.url.Path, o.url.Host)
	if session != "" {
		fmt.Fprintf(&b, "Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n", session)
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return nil, err
	}
	r, err := http.ReadResponse(o.in, nil)
	if err != nil {
		return nil, err
	}
	if r.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s: status %s", method, r.Status)
	}
	if method == http.MethodGet {
		return r.Header, nil
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return r.Header, r.Body.Close()
}
