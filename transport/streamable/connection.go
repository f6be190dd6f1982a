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

// connection is a connection that a client has opened. If a listener of Connections accepted it,
// net/http reads from the client through it, and it fails at the first framing fault.
type connection struct {
	net.Conn // with TLS, the decrypted connection
	all      *Connections
	raw      net.Conn  // with TLS, the encrypted connection
	secure   *tls.Conn // equals Conn with TLS, otherwise nil
	errorLog *log.Logger
	proxied  *proxied // below all of these, for a proxy that sends the PROXY protocol; or nil

	// Only the reader uses these; net/http has one reader at a time.
	framing     framing
	replacement []byte // remaining bytes to be read in place of a faulty head
	handshaken  bool   // the TLS handshake is over
	begun       bool   // some bytes were read
	counts      bool   // counted for the address that the proxy has named

	// Only the goroutine that serves the HTTP/1 requests of the connection, one after the other, uses
	// these.
	head       *head // the cached head of an earlier POST, or nil
	headMisses uint8 // consecutive POSTs whose head was not the cached one
	// disconnectUnknown says that a deadline has passed while the body of the last request was read.
	// After that, a disconnect of the client can no longer be detected.
	disconnectUnknown bool
	response          response      // to the current request
	wake              chan struct{} // wake-up channel of its stream response: see wakeChan

	// waiter is the stream response of its request, while only the connection can tell it that the
	// client has left.
	waiter atomic.Pointer[streamResponse]
	broken atomic.Bool // the client has left

	// from is the address of the proxy's client; nil if the connection has no PROXY header.
	from   atomic.Pointer[net.TCPAddr]
	faulty atomic.Bool // framing has found a fault: nothing more is read
	asked  atomic.Bool // bytes were read after the last answer was written
	// dismissed says that the client was told between two requests that the connection ends. Any
	// further requests are dropped.
	dismissed atomic.Bool
	lingered  sync.Once

	tenant atomic.Pointer[tenantConns] // the owning tenant; nil before the first authenticated request

	// The mutex of Connections guards these.
	group          netip.Prefix
	counted        bool // counted for its address
	ended          bool // closed before it belonged to a tenant
	came           time.Time
	weight         int64
	place, placeOf *list.Element // nil once it has authenticated

	mu          sync.Mutex // guards the rest
	state       *tls.ConnectionState
	open        int               // requests that are being answered
	multiplexes bool              // it has had an HTTP/2 request
	streams     []*streamResponse // open responses that only wait for events
	changed     time.Time         // when open or streams last changed
	left        bool              // it was asked to end
	since       time.Time         // when the count of resets started
	resets      int
}

// local is the address of callers over a Unix socket: users of this machine, as over loopback.
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

// remember implements http.Server.ConnContext.
func (c *Connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c.known(conn))
}

// connectionOf returns the connection of a request, or nil for a request that no server of
// NewHTTPServer has received.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// faultyHead is read in place of a head with a framing fault. net/http answers an error with 400
// only after it has read four bytes of a request. While net/http serves the previous request, it
// also reads one byte to detect a disconnect, and would take an error there for a disconnect.
var faultyHead = []byte("????")

// Read implements net.Conn. It fails with errFraming at ambiguous framing. It skips empty lines
// before a request (RFC 9112 §2.2), because net/http accepts none before the first request.
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

// read returns 0 and no error if it has read only empty lines.
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
	if n > 0 && c.tenant.Load() == nil && !c.all.countInput(c, n) {
		return 0, net.ErrClosed
	}
	if c.secure != nil && !c.handshaken {
		c.handshaken = true
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
		c.replacement = faultyHead
	}
	if sound > 0 {
		return sound, nil
	}
	return c.fail(p)
}

// notProxied is the answer to a proxy that this host does not know.
const notProxied = "this is the PROXY protocol, which this host does not expect from this " +
	"address: " +
	"set proxy_protocol: true and add the address to trusted_proxies in its configuration"

// proxyHeader reports whether bytes begin with a header of the PROXY protocol.
func proxyHeader(p []byte) bool {
	return bytes.HasPrefix(p, proxyproto.SIGV1) || bytes.HasPrefix(p, proxyproto.SIGV2)
}

func (c *connection) fail(p []byte) (n int, err error) {
	if len(c.replacement) == 0 && len(p) > 0 {
		return 0, errFraming
	}
	n = copy(p, c.replacement)
	c.replacement = c.replacement[n:]
	return n, nil
}

// handshake reports a failed handshake as net/http does for handshakes of its own.
func (c *connection) handshake(err error) {
	if err == nil {
		return
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil && looksLikeHTTP(plain.RecordHeader) {
		io.WriteString(plain.Conn,
			"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		err = errors.New("client sent an HTTP request to an HTTPS server")
	}
	if c.errorLog != nil {
		c.errorLog.Printf("http: TLS handshake error from %s: %v", c.RemoteAddr(), err)
	}
}

// looksLikeHTTP reports whether the bytes in place of a TLS record are the beginning of an HTTP
// request.
func looksLikeHTTP(record [5]byte) bool {
	switch string(record[:]) {
	case "GET /", "POST ", "DELET", "OPTIO", "HEAD ", "PUT /":
		return true
	}
	return false
}

// tls returns the state negotiated in the handshake, or nil without TLS.
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
	// afterTime and afterBytes limit the input that is discarded after the last answer of a connection
	// with a fault or a dismissed connection. If that input were not read, the kernel would reset the
	// connection, and a client that is still sending might lose the answer.
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

// linger gives the client time to read the last answer.
func (c *connection) linger() {
	c.lingered.Do(func() {
		_ = c.CloseWrite()
		_ = c.Conn.SetReadDeadline(time.Now().Add(afterTime))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, afterBytes))
	})
}

// CloseWrite tells the peer that nothing more is sent. net/http calls it before it closes a
// connection on which more input may arrive.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// closeNow closes a connection at once, even during a write.
func (c *connection) closeNow() { _ = c.raw.Close() }

const (
	// MaxResets is the maximum number of requests on an HTTP/2 connection that a client may cancel
	// within ResetTime. Starting and cancelling requests costs a client almost nothing. Beyond it, the
	// connection accepts no further request.
	MaxResets = 200
	// ResetTime is the period in which cancelled requests are counted.
	ResetTime = 10 * time.Second
)

// reset counts a cancelled request.
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

// tooManyResets reports whether the client has cancelled too many requests.
func (c *connection) tooManyResets() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resets > MaxResets
}
