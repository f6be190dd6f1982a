package streamable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/pires/go-proxyproto"
)

// proxied is a connection that begins with a header of the PROXY protocol, version 1 or 2, which
// names the client of the proxy. The header is required: if it were optional, clients of the proxy
// could send a forged one.
type proxied struct {
	net.Conn
	plain bool // no TLS follows, so errors can be sent to the peer

	// Only the reader uses these.
	begin *bufio.Reader // for the header and what came with it; nil once that is read
	read  bool          // the header was read
	from  *net.TCPAddr  // nil if the proxy speaks for itself
	// told is called as soon as the header is read. It reports whether the connection may continue.
	told func() bool
}

// maxProxyHeader limits the header of the PROXY protocol, including its additional fields.
const maxProxyHeader = 4 << 10

func newProxied(conn net.Conn, plain bool) *proxied {
	return &proxied{Conn: conn, plain: plain, begin: bufio.NewReaderSize(conn, maxProxyHeader)}
}

// Read implements net.Conn.
func (p *proxied) Read(b []byte) (int, error) {
	if !p.read {
		if err := p.header(); err != nil {
			return 0, err
		}
	}
	if p.begin == nil {
		return p.Conn.Read(b)
	}
	if p.begin.Buffered() == 0 {
		p.begin = nil
		return p.Conn.Read(b)
	}
	return p.begin.Read(b[:min(len(b), p.begin.Buffered())])
}

func (p *proxied) header() error {
	h, err := proxyproto.Read(p.begin)
	var late net.Error
	switch {
	case err == nil:
	case errors.As(err, &late): // the proxy is slow or gone
		return err
	default:
		if p.plain {
			badRequest(
				p.Conn,
				"this host expects a header of the PROXY protocol from this address: see proxy_protocol in "+
					"its configuration",
			)
		}
		return io.EOF
	}
	if h.Command.IsProxy() {
		from, _, ok := h.TCPAddrs()
		if !ok { // a client without an address would count as the trusted proxy
			return io.EOF
		}
		p.from = from
	}
	p.read = true
	if p.told != nil && !p.told() {
		return net.ErrClosed
	}
	return nil
}

// CloseWrite tells the peer that nothing more is sent.
func (p *proxied) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// badRequest answers input that is not a request.
func badRequest(w io.Writer, reason string) {
	fmt.Fprintf(w, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; "+
		"charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\n",
		len(reason)+1, reason)
}

// identify processes the PROXY header of a connection once it is read, and reports whether the
// connection may continue.
func (c *connection) identify() bool {
	if c.proxied == nil || !c.proxied.read || c.counts {
		return true
	}
	c.counts = true
	if c.proxied.from == nil {
		return true
	}
	c.from.Store(c.proxied.from)
	return c.all.countProxied(c)
}

// source returns the address of the proxy's client, or "".
func (c *connection) source() string {
	if c == nil {
		return ""
	}
	if from := c.from.Load(); from != nil {
		return from.String()
	}
	return ""
}

// countProxied counts a connection for the address that its proxy has named, and reports whether
// there is room for it.
func (c *Connections) countProxied(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place == nil { // it has ended
		return false
	}
	came := conn.came
	c.unauthenticated.remove(conn)
	c.exit(conn)
	if c.enter(conn) {
		c.refused(tooMany, conn, "")
		conn.ended = true
		conn.closeNow()
		return false
	}
	c.unauthenticated.add(conn, came)
	c.trim(conn)
	return !conn.ended
}

// peerOf returns the address of a connection's peer. For a Unix socket it is loopback, since the
// peer is a user of this machine.
func peerOf(conn net.Conn) netip.Addr {
	if _, isUnix := conn.(*net.UnixConn); isUnix {
		return local.AddrPort().Addr().Unmap()
	}
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap()
}
