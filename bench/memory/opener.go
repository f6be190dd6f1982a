package memory

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcpd/bench/kit"
)

// openers is how many sessions are opened concurrently, enough to keep two cores busy.
const openers = 16

// spareFiles is the number of files that a process needs besides its sessions' connections:
// listeners, pipes, libraries.
const spareFiles = 256

// affordable returns how many connections this process and its children may hold, at most want. Go
// raises the soft limit itself.
func affordable(r *kit.Run, want int) (int, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 0, err
	}
	if files.Max < uint64(want)+spareFiles {
		want = int(files.Max) - spareFiles
		r.Say("only %d sessions: the limit of open files is %d", want, files.Max)
	}
	return want, nil
}

// sessionUse says what a session does before it is idle, besides its handshake.
type sessionUse struct {
	stream   bool // it opens the standing stream
	call     bool // it calls a tool once
	detached bool // it has no connection: its opener reuses the connection for the next session
}

// open is a session that is held.
type open struct {
	id   string
	conn net.Conn // nil for a detached session
}

func (o *open) close() {
	if o.conn != nil {
		_ = o.conn.Close() // the process ends as well
	}
}

// hold opens n sessions and adds them to the list, including those opened before a failure.
func hold(endpoint string, n int, u sessionUse, list *[]*open) error {
	fresh := make([]*open, n)
	for i := range fresh {
		fresh[i] = &open{}
	}
	*list = append(*list, fresh...)
	return each(fresh, endpoint, func(o *opener, _ int, s *open) error {
		o.sessionUse = u
		return o.open(s)
	})
}

// each calls do for every session, several at a time. The opener passed to do has a connection for
// detached sessions.
func each(list []*open, endpoint string, do func(o *opener, i int, s *open) error) error {
	where, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	failures := make([]error, openers)
	var all sync.WaitGroup
	for worker := range openers {
		all.Go(func() {
			o := opener{url: where, in: bufio.NewReader(nil)}
			defer o.close()
			for i := worker; i < len(list) && failures[worker] == nil; i += openers {
				failures[worker] = do(&o, i, list[i])
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// opener makes the requests of one session after another. It is written by hand because net/http's
// client would need two goroutines for each session.
type opener struct {
	sessionUse
	url  *url.URL
	in   *bufio.Reader
	conn net.Conn // for sessions without a connection of their own; made when it is needed
	made int      // connections
}

// perAddress is how many connections an opener makes from one address. All openers share the 28,000
// ports for connections between two addresses (/proc/sys/net/ipv4/ip_local_port_range).
const perAddress = 1000

// source returns the local address of the next connection. On Linux all of 127.0.0.0/8 is loopback;
// other systems hold fewer connections at once.
func (o *opener) source() net.Addr {
	n := o.made / perAddress
	if o.made++; n == 0 || runtime.GOOS != "linux" {
		return nil
	}
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+n))}
}

// portLater makes the kernel choose the port at connect, as for any other connection. Then ports
// that are used with other addresses, or by closed connections, are available. A port that is
// chosen at bind is blocked for all addresses.
func portLater(_, _ string, c syscall.RawConn) (err error) {
	const bindAddressNoPort = 24 // IP_BIND_ADDRESS_NO_PORT of ip(7)
	failed := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindAddressNoPort, 1)
	})
	return errors.Join(failed, err)
}

func (o *opener) close() {
	if o.conn != nil {
		_ = o.conn.Close() // everything was answered
	}
}

// dial makes a connection with a deadline that bounds all waits on it.
func (o *opener) dial() (net.Conn, error) {
	d := net.Dialer{Timeout: kit.Patience, LocalAddr: o.source()}
	if d.LocalAddr != nil {
		d.Control = portLater
	}
	conn, err := d.Dial("tcp", o.url.Host)
	if err != nil {
		return nil, err
	}
	o.in.Reset(conn)
	return conn, conn.SetDeadline(time.Now().Add(kit.Patience))
}

// own returns the opener's own connection.
func (o *opener) own() (conn net.Conn, err error) {
	if o.conn == nil {
		if o.conn, err = o.dial(); err != nil {
			return nil, err
		}
	}
	return o.conn, o.conn.SetDeadline(time.Now().Add(kit.Patience))
}

// open connects, performs the handshake and the session's use, all on the same connection.
func (o *opener) open(s *open) (err error) {
	var conn net.Conn
	if o.detached {
		conn, err = o.own()
	} else {
		conn, err = o.dial()
		s.conn = conn
	}
	if err != nil {
		return err
	}
	head, err := o.send(conn, "POST", "",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpd-bench","version":"1"}}}`)
	if err != nil {
		return err
	}
	if s.id = head.Get("Mcp-Session-Id"); s.id == "" {
		return fmt.Errorf("initialize: no session id in %v", head)
	}
	if _, err := o.send(conn, "POST", s.id,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	if o.call {
		const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo__echo","arguments":{"message":"hello"}}}`
		if _, err := o.send(conn, "POST", s.id, call); err != nil {
			return err
		}
	}
	if o.stream {
		if _, err := o.send(conn, "GET", s.id, ""); err != nil {
			return err
		}
	}
	return conn.SetDeadline(time.Time{})
}

// ask makes a request of a session.
func (o *opener) ask(s *open) error {
	conn, err := o.own()
	if err == nil {
		_, err = o.send(conn, "POST", s.id, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	}
	return err
}

// end deletes a session.
func (o *opener) end(s *open) error {
	conn, err := o.own()
	if err == nil {
		_, err = o.send(conn, "DELETE", s.id, "")
	}
	s.close()
	return err
}

// send makes one request and reads its response, or only the header of a stream.
func (o *opener) send(conn net.Conn, method, session, body string) (http.Header, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\n",
		method, o.url.Path, o.url.Host)
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
