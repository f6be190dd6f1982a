package streamable

import (
	"bytes"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"
)

// connection is one that a client has opened. If it was accepted by a listener of Connections,
// net/http reads what was sent through it, which ends it at the first fault of framing.
type connection struct {
	net.Conn // with TLS, what is inside of that
	all      *Connections
	raw      net.Conn  // with TLS, what is outside of that
	secure   *tls.Conn // the same, or nil
	errorLog *log.Logger
	proxied  *proxied // outside of all of that, for a proxy that says who has connected; or nil

	// Only whoever reads uses these; net/http has one reader at a time.
	framing framing
	instead []byte // of a faulty head, what is left to read
	shaken  bool   // the handshake of TLS is over
	begun   bool   // something was read
	counts  bool   // for the address that the proxy has named

	// Only who serves its requests uses these, of HTTP/1, which come one after the other.
	head    *head // of the POST before, or nil
	strange uint8 // heads of POSTs since one was known
	// outlived says that a deadline has passed while the body of the last one was read: whether its
	// client leaves cannot be told.
	outlived bool
	response response      // to the one of now
	wake     chan struct{} // of its outlet: see wakes

	waiter atomic.Pointer[outlet] // of its request, while that would not notice that its client has left
	broken atomic.Bool            // the client has left

	from   atomic.Pointer[net.TCPAddr] // who has connected to the proxy; nil without one that says so
	faulty atomic.Bool                 // framing has found a fault: nothing is read any more
	asked  atomic.Bool                 // something was read after the last answer was written
	// dismissed says that the client was told that the connection ends, between two requests. Its
	// further requests are dropped.
	dismissed atomic.Bool
	lingered  sync.Once

	tenant atomic.Pointer[holder] // whose it is; nil before its first authenticated request

	// The mutex of Connections guards these.
	group          netip.Prefix
	counted        bool // for its address
	ended          bool // before it was anybody's
	came           time.Time
	weight         int64
	place, placeOf *list.Element // nil once it has authenticated

	mu          sync.Mutex // guards the rest
	state       *tls.ConnectionState
	open        int       // requests on it that are being answered
	multiplexes bool      // it has had a request of HTTP/2
	streams     []*outlet // those of them that only wait for something to say
	changed     time.Time // since when both are as they are
	left        bool      // it was asked to end
	since       time.Time // when resets were counted from
	resets      int
}

// local is who calls over a Unix socket: a user of this machine, as over loopback.
var local = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}

// RemoteAddr implements net.Conn.
func (c *connection) RemoteAddr() net.Addr {
	if from := c.from.Load(); from != nil {
		return from
	}
	if _, isUnix := c.raw.(*net.UnixConn); isUnix {
		return local
	}
	return c.Conn.RemoteAddr()
}

type connectionKey struct{}

// remember is an http.Server.ConnContext.
func (c *Connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c.known(conn))
}

// connectionOf is nil for a request that no server of NewHTTPServer has taken.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// faultyHead is read instead of a head with a fault. net/http answers an error only when it has
// four bytes of a request, and while it serves the request before it reads one, to learn that its
// client has gone, for which it would take the error.
var faultyHead = []byte("????")

// Read implements net.Conn. It fails with errFraming in place of what is framed ambiguously. Empty
// lines before a request are left out (RFC 9112 §2.2): net/http takes none before the first.
func (c *connection) Read(p []byte) (int, error) {
	for {
		n, err := c.read(p)
		if err != nil {
			c.ends(err)
		}
		if n != 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// read returns nothing, and no error, for what is nothing but empty lines.
func (c *connection) read(p []byte) (int, error) {
	if c.faulty.Load() {
		return c.fail(p)
	}
	n, err := c.Conn.Read(p)
	if c.dismissed.Load() {
		c.linger()
		return 0, io.EOF
	}
	if !c.identify() {
		return 0, net.ErrClosed
	}
	foreign := !c.begun && proxyHeader(p[:n])
	c.begun = c.begun || n > 0
	if n > 0 && !c.asked.Load() {
		c.asked.Store(true)
	}
	if n > 0 && c.tenant.Load() == nil && !c.all.heard(c, n) {
		return 0, net.ErrClosed
	}
	if c.secure != nil && !c.shaken {
		c.shaken = true
		c.handshake(err)
	}
	empty := c.framing.emptyLines(p[:n])
	sound, fault := c.framing.scan(p[:n])
	if empty > 0 {
		n = copy(p, p[empty:n])
		sound -= empty
	}
	if !fault {
		return n, err
	}
	c.faulty.Store(true)
	c.all.refused(badFramingReason, c, "")
	if foreign {
		badRequest(c.Conn, notProxied)
		return 0, io.EOF
	}
	if !c.framing.inBody() {
		c.instead = faultyHead
	}
	if sound > 0 {
		return sound, nil
	}
	return c.fail(p)
}

// notProxied is for a proxy that this host does not know.
const notProxied = "this is the PROXY protocol, which this host does not expect from this address: " +
	"set proxy_protocol: true and add the address to trusted_proxies in its configuration"

// proxyHeader reports whether bytes begin as a header of the PROXY protocol does.
func proxyHeader(p []byte) bool {
	return bytes.HasPrefix(p, proxyproto.SIGV1) || bytes.HasPrefix(p, proxyproto.SIGV2)
}

func (c *connection) fail(p []byte) (n int, err error) {
	if len(c.instead) == 0 && len(p) > 0 {
		return 0, errFraming
	}
	n = copy(p, c.instead)
	c.instead = c.instead[n:]
	return n, nil
}

// handshake tells what came of the handshake, as net/http does where it makes it itself.
func (c *connection) handshake(err error) {
	if err == nil {
		return
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil && looksLikeHTTP(plain.RecordHeader) {
		io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		err = errors.New("client sent an HTTP request to an HTTPS server")
	}
	if c.errorLog != nil {
		c.errorLog.Printf("http: TLS handshake error from %s: %v", c.RemoteAddr(), err)
	}
}

// looksLikeHTTP reports whether a record that is none is the beginning of a request.
func looksLikeHTTP(record [5]byte) bool {
	switch string(record[:]) {
	case "GET /", "POST ", "DELET", "OPTIO", "HEAD ", "PUT /":
		return true
	}
	return false
}

// tls is what was agreed on in the handshake, or nil without TLS.
func (c *connection) tls() *tls.ConnectionState {
	if c == nil || c.secure == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		state := c.secure.ConnectionState()
		c.state = &state
	}
	return c.state
}

const (
	// afterTime and afterBytes bound what is discarded of a connection with a fault, or one that was
	// dismissed, after its last answer: the kernel would take the answer back from a client that is
	// still sending.
	afterTime  = 250 * time.Millisecond
	afterBytes = 256 << 10
)

// Close implements net.Conn.
func (c *connection) Close() error {
	if c.faulty.Load() || c.dismissed.Load() {
		c.linger()
	}
	return c.Conn.Close()
}

// linger lets the client read the last answer.
func (c *connection) linger() {
	c.lingered.Do(func() {
		_ = c.CloseWrite()
		_ = c.Conn.SetReadDeadline(time.Now().Add(afterTime))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, afterBytes))
	})
}

// CloseWrite sends that nothing follows. net/http calls it before it closes a connection on which
// more may come.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// shut closes a connection at once, whatever is written to it.
func (c *connection) shut() { _ = c.raw.Close() }

const (
	// MaxResets is how many requests of one connection of HTTP/2 a client may take back within ResetTime. To begin and to take back costs
	// it next to nothing. With more, the connection takes no further request.
	MaxResets = 200
	// ResetTime is the time in which they count.
	ResetTime = 10 * time.Second
)

// reset counts a request that was taken back.
func (c *connection) reset(now time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) > ResetTime && c.resets <= MaxResets {
		c.since, c.resets = now, 0
	}
	c.resets++
}

// wornOut reports whether there were too many.
func (c *connection) wornOut() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resets > MaxResets
}
