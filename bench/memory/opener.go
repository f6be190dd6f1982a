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

// openers is how many sessions are opened at a time: enough to keep two cores busy.
const openers = 16

// spareFiles are those that a process needs beside its sessions' connections: listeners, pipes, libraries.
const spareFiles = 256

// affordable is how many connections this process and its children may hold, at most want. Go raises the soft limit itself.
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

// use is what a session does before it is idle, beside its handshake.
type use struct {
	stream   bool // it opens the standing stream
	call     bool // it calls a tool once
	detached bool // it has no connection: its opener's is used for the next
}

// open is a session that is held.
type open struct {
	id   string
	conn net.Conn // nil for one that is detached
}

func (o *open) close() {
	if o.conn != nil {
		_ = o.conn.Close() // the process ends as well
	}
}

// hold opens n sessions and adds them to the list, also those before a failure.
func hold(endpoint string, n int, u use, list *[]*open) error {
	fresh := make([]*open, n)
	for i := range fresh {
		fresh[i] = &open{}
	}
	*list = append(*list, fresh...)
	return each(fresh, endpoint, func(o *opener, _ int, s *open) error {
		o.use = u
		return o.open(s)
	})
}

// each does something with every session, some at a time, each time with an opener that has a connection for those that have none.
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

// opener talks for one session after another. It is written by hand because net/http's client would keep two goroutines for each.
type opener struct {
	use
	url  *url.URL
	in   *bufio.Reader
	conn net.Conn // for whatever has no connection of its own; made when it is needed
	made int      // connections
}

// perAddress is how many connections an opener makes from one address: there are 28,000 ports for connections from one to another
// (/proc/sys/net/ipv4/ip_local_port_range), for all openers.
const perAddress = 1000

// source is the address of the next connection. Of Linux all 127.0.0.0/8 is loopback; elsewhere fewer are open at once.
func (o *opener) source() net.Addr {
	n := o.made / perAddress
	if o.made++; n == 0 || runtime.GOOS != "linux" {
		return nil
	}
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+n))}
}

// portLater has the port chosen as for any other connection, so that those of other addresses and those that are over do not count. A port that is
// chosen with its address is taken from all.
func portLater(_, _ string, c syscall.RawConn) (err error) {
	const bindAddressNoPort = 24 // IP_BIND_ADDRESS_NO_PORT of ip(7)
	failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindAddressNoPort, 1) })
	return errors.Join(failed, err)
}

func (o *opener) close() {
	if o.conn != nil {
		_ = o.conn.Close() // everything was answered
	}
}

// dial makes a connection that whatever is waited for on it bounds.
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

// own is the opener's own connection.
func (o *opener) own() (conn net.Conn, err error) {
	if o.conn == nil {
		if o.conn, err = o.dial(); err != nil {
			return nil, err
		}
	}
	return o.conn, o.conn.SetDeadline(time.Now().Add(kit.Patience))
}

// open connects, shakes hands and does what else the session is for, all on the same connection.
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
	head, err := o.send(conn, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpd-bench","version":"1"}}}`)
	if err != nil {
		return err
	}
	if s.id = head.Get("Mcp-Session-Id"); s.id == "" {
		return fmt.Errorf("initialize: no session id in %v", head)
	}
	if _, err := o.send(conn, "POST", s.id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
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

// ask asks a session for an answer.
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
