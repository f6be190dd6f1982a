package streamable

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/protocol"
)

// waiting returns the number of unauthenticated connections.
func waiting(c *Connections) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unauthenticated.len()
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// At the limit, a client with a request replaces the oldest connection without one, but none that
// has had a request.
func TestNewConnectionsEvictIdleOnes(t *testing.T) {
	refused := make(chan struct{}, 10)
	connections := &Connections{Max: 3, Refused: func(string, net.Addr, string) {
		refused <- struct{}{}
	}}
	address := start(t, ServerOptions{Handler: authenticates, Connections: connections},
		func(*http.Server) {})
	settled := connect(t, address)
	if !asks(settled) {
		t.Fatal("the first connection was closed")
	}
	var silent []net.Conn
	for n := range int64(2) {
		silent = append(silent, connect(t, address))
		waitFor(t, func() bool { return connections.Open() == n+2 })
	}
	time.Sleep(unauthenticatedGrace)
	for i, old := range silent {
		if !asks(connect(t, address)) {
			t.Errorf("newcomer %d was closed although others had asked nothing", i)
		}
		<-refused
		old.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := old.Read(make([]byte, 1)); !errors.Is(err, io.EOF) &&
			!errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("silent connection %d: %v, want it closed", i, err)
		}
	}
	if asks(connect(t, address)) {
		t.Error("one too many was served")
	}
	<-refused
	if !asks(settled) {
		t.Error("a connection on which something was asked was closed")
	}
	settled.Close()
	waitFor(t, func() bool { return waiting(connections) == 0 })
}

// If others can wait to be accepted, a connection that has only just arrived is not closed: it may
// be about to send a request.
func TestNewConnectionIsNotEvictedAtFirst(t *testing.T) {
	var all unauthenticatedConns
	now := time.Now()
	conn := &connection{}
	all.add(conn, now)
	if all.oldest(now.Add(unauthenticatedGrace-1), unauthenticatedGrace) != nil {
		t.Error("closed too early")
	}
	if all.oldest(now.Add(unauthenticatedGrace), unauthenticatedGrace) != conn {
		t.Error("left alone for ever")
	}
	all.remove(conn)
	all.remove(conn)
	if all.len() != 0 || all.bytes != 0 || all.oldest(now.Add(time.Hour), 0) != nil {
		t.Errorf("%d are kept, with %d bytes", all.len(), all.bytes)
	}
}

// scarce is a listener that may have so many files open.
type scarce struct {
	*net.TCPListener
	files chan struct{}
}

func (s *scarce) Accept() (net.Conn, error) {
	select {
	case s.files <- struct{}{}:
	default:
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	c, err := s.TCPListener.Accept()
	if err != nil {
		<-s.files
		return nil, err
	}
	return &file{c, s.files}, nil
}

type file struct {
	net.Conn
	files chan struct{}
}

func (f *file) Close() error {
	err := f.Conn.Close()
	if err == nil {
		<-f.files
	}
	return err
}

// startScarce starts a server whose number of open connections is limited by descriptors. It ends
// with the test, even while it waits for a descriptor.
func startScarce(t *testing.T, files int) (address string) {
	t.Helper()
	connections := &Connections{}
	server := NewHTTPServer(ServerOptions{Handler: authenticates, Connections: connections})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(connections.Listener(&scarce{
			l.(*net.TCPListener), make(chan struct{}, files),
		}))
	}()
	t.Cleanup(func() {
		server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("got %v", err)
		}
	})
	return l.Addr().String()
}

// A client with a request is accepted even if connections without requests have taken all
// descriptors. A listener that waits for a descriptor can be closed.
func TestListenerMakesRoom(t *testing.T) {
	const files = 3
	address := startScarce(t, files)
	for range 4 * files {
		connect(t, address)
	}
	for range 2 * files {
		conn := connect(t, address)
		if !asks(conn) {
			t.Error("closed unheard")
		}
		conn.Close()
	}
	var held []net.Conn
	for range files {
		conn := connect(t, address)
		if held = append(held, conn); !asks(conn) {
			t.Error("closed unheard")
		}
	}
	time.Sleep(2 * unauthenticatedGrace)
	for _, conn := range held {
		if !asks(conn) {
			t.Error("closed although it had asked")
		}
	}
}

// A slow client keeps the last descriptor as long as no other client waits for it.
func TestListenerMakesNoRoomForNobody(t *testing.T) {
	address := startScarce(t, 1)
	slow := connect(t, address)
	slow.SetReadDeadline(time.Now().Add(5 * unauthenticatedGrace))
	if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("closed for nobody: %v", err)
	}
	if !asks(slow) {
		t.Error("closed before it was answered")
	}
}

// The preface of HTTP/2 is no request. A connection that has had an HTTP/2 request is not closed.
func TestPrefaceAsksNothing(t *testing.T) {
	cert, key, pool := certificate(t)
	connections := &Connections{Max: 2}
	address := start(t, ServerOptions{Handler: authenticates, Certificate: loaded(t, cert, key),
		Connections: connections}, func(*http.Server) {})
	get := func(c *http.Client) error {
		resp, err := c.Get("https://" + address)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	client := func() *http.Client {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 20 * time.Second}
	}
	settled := client()
	if err := get(settled); err != nil {
		t.Fatal(err)
	}
	silent, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := silent.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		frame(settingsFrame, 0, 0, nil)...)); err != nil {
		t.Fatal(err)
	}
	silent.SetReadDeadline(time.Now().Add(20 * time.Second))
	var acknowledged bool
	for b := make([]byte, 9); !acknowledged; { // then the server has read the preface
		if _, err := io.ReadFull(silent, b); err != nil {
			t.Fatal(err)
		}
		acknowledged = b[3] == settingsFrame && b[4] == 1
		if _, err := io.CopyN(io.Discard, silent,
			int64(b[0])<<16|int64(b[1])<<8|int64(b[2])); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(unauthenticatedGrace)
	if err := get(client()); err != nil {
		t.Errorf("a client that asks is closed for one that sent its preface: %v", err)
	}
	if err := get(settled); err != nil || waiting(connections) != 0 {
		t.Errorf("%v, %d newcomers", err, waiting(connections))
	}
}

// Connections that never authenticate take no room from those that do, whatever they sent.
func TestUnknownConnectionsMakeRoomForOthers(t *testing.T) {
	s := startTown(t, &Connections{Max: 16})
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/t/acme/mcp")
	for i := range 64 {
		conn := connect(t, address)
		if i%2 == 0 {
			asks(conn) // 401, or an error
		}
	}
	for range 11 {
		if resp := s.ask("acme", http.MethodPost,
			initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
			t.Errorf("a tenant: %d %s", resp.StatusCode, content(t, resp))
		}
	}
}

// hoard opens connections that send an incomplete head of so many bytes, and returns them in the
// order in which they were opened.
func hoard(t *testing.T, address, from string, n, bytes int, settled func() bool) (all []net.Conn) {
	t.Helper()
	for range n {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		// The connection may be closed already.
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", bytes))
		all = append(all, conn)
		waitFor(t, settled)
	}
	return all
}

// ended reports whether a connection was closed.
func ended(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	op, ok := err.(net.Error)
	return err != nil && (!ok || !op.Timeout())
}

func bytesOfUnknown(c *Connections) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unauthenticated.bytes
}

// Incomplete heads of many addresses are limited in memory: the oldest of all are closed.
// Authenticated connections and those of a trusted proxy are not affected.
func TestUnknownConnectionsAreBounded(t *testing.T) {
	const bound = 256 << 10
	connections := &Connections{UnauthenticatedBytes: bound}
	s := startTown(t, connections)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/t/acme/mcp")
	proxy := hoard(t, address, "127.0.0.9", 40, 8000, func() bool { return true })
	known := connect(t, address)
	io.WriteString(known, "GET /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: acme\r\n\r\n")
	if _, err := known.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	io.WriteString(known, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 8000))
	var all []net.Conn
	for i := range 40 {
		from := netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}).String()
		all = append(all, hoard(t, address, from, 1, 8000, func() bool {
			return bytesOfUnknown(connections) <= bound
		})...)
	}
	if !ended(all[0]) || !ended(all[10]) || ended(all[39]) {
		t.Error("not the oldest have ended")
	}
	if ended(known) || ended(proxy[0]) {
		t.Error("who has authenticated has ended, or a trusted proxy")
	}
	if reason := connections.Pressure(); !strings.Contains(reason,
		"without an authenticated request") ||
		!strings.Contains(reason, "127.0.1.") {
		t.Errorf("what is told is %q", reason)
	}
	all = append(all, known)
	for _, conn := range append(all, proxy...) {
		conn.Close()
	}
	waitFor(t, func() bool { return connections.Open() == 0 })
	if n := bytesOfUnknown(connections); n != 0 || len(connections.unauthenticated.from) != 0 ||
		len(connections.tenants) != 0 {
		t.Errorf("%d bytes, %d addresses and %d tenants stay", n, len(connections.unauthenticated.from),
			len(connections.tenants))
	}
}

// Beyond the limit of an address, its oldest incomplete heads are closed, and those of no
// other address.
func TestUnknownConnectionsOfAnAddressAreBounded(t *testing.T) {
	const bound = 128 << 10
	connections := &Connections{UnauthenticatedBytesPerAddress: bound}
	s := startTown(t, connections)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/t/acme/mcp")
	other := hoard(t, address, "127.0.0.2", 2, 8000, func() bool { return true })
	all := hoard(t, address, "127.0.0.1", 20, 8000, func() bool {
		return bytesOfUnknown(connections) <= 3*bound
	})
	waitFor(t, func() bool { return bytesOfUnknown(connections) <= 2*bound })
	if !ended(all[0]) || ended(all[19]) || ended(other[0]) || ended(other[1]) {
		t.Error("not the oldest of that address have ended")
	}
	// A client from that address with a key is served.
	if resp := s.ask("acme", http.MethodPost,
		initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("a tenant from that address: %d %s", resp.StatusCode, content(t, resp))
	}
}
