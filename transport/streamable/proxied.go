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
// says who has connected to the proxy. The header is required: where it were not, the proxy's
// clients could send one of their own.
type proxied struct {
	net.Conn
	plain bool // no TLS follows: its peer can be told what is wrong

	// Only whoever reads uses these.
	begin *bufio.Reader // of the header and what came with it; nil when that is read
	read  bool          // the header is
	from  *net.TCPAddr  // nil when the proxy speaks for itself
	told  func() bool   // looks at the header as soon as it is read: may the connection go on?
}

// maxProxyHeader bounds the header of the PROXY protocol, with what it has beside addresses.
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
	case errors.As(err, &late): // the proxy is slow, or gone
		return err
	default:
		if p.plain {
			badRequest(p.Conn, "this host expects a header of the PROXY protocol from this address: see proxy_protocol in its configuration")
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

// CloseWrite sends that nothing follows.
func (p *proxied) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// badRequest answers what is no request.
func badRequest(w io.Writer, why string) {
	fmt.Fprintf(w, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\n",
		len(why)+1, why)
}

// identify takes note of what the header of the PROXY protocol said of a connection, once it is
// read, and reports whether the connection may go on.
func (c *connection) identify() bool {
	if c.proxied == nil || !c.proxied.read || c.counts {
		return true
	}
	c.counts = true
	if c.proxied.from == nil {
		return true
	}
	c.from.Store(c.proxied.from)
	return c.all.comes(c)
}

// source is who has connected to the proxy, or "".
func (c *connection) source() string {
	if c == nil {
		return ""
	}
	if from := c.from.Load(); from != nil {
		return from.String()
	}
	return ""
}

// comes counts a connection for the address that its proxy has named, and reports whether there is
// room for one more.
func (c *Connections) comes(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place == nil { // it has ended
		return false
	}
	came := conn.came
	c.unknown.remove(conn)
	c.exit(conn)
	if c.enter(conn) {
		c.refused(tooMany, conn, "")
		conn.ended = true
		conn.shut()
		return false
	}
	c.unknown.add(conn, came)
	c.trim(conn)
	return !conn.ended
}

// peerOf is who is at the other end of a connection: over a Unix socket a user of this machine.
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
