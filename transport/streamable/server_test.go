package streamable

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServerBounds(t *testing.T) {
	s := NewHTTPServer(ServerOptions{Handler: http.NotFoundHandler()})
	if s.ReadHeaderTimeout != 5*time.Second || s.IdleTimeout != 75*time.Second ||
		s.MaxHeaderBytes+4096 != 32<<10 || s.WriteTimeout != 0 {
		t.Errorf("got %v, %v, %d and %v", s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes,
			s.WriteTimeout)
	}
	if _, err := LoadCertificate("missing.pem", "missing.key"); err == nil ||
		!strings.Contains(err.Error(), `"missing.pem"`) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

// start serves until the test ends and returns the address.
func start(t *testing.T, o ServerOptions, ready func(*http.Server)) string {
	t.Helper()
	return startOn(t, o, ready, func(l net.Listener) net.Listener { return l })
}

// startOn is like start with a listener of another kind.
func startOn(t *testing.T, o ServerOptions, ready func(*http.Server),
	on func(net.Listener) net.Listener) string {
	t.Helper()
	s := NewHTTPServer(o)
	ready(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections := o.Connections
	if connections == nil {
		connections = &Connections{}
	}
	l = connections.Listener(on(l))
	if o.Certificate != nil {
		l = connections.SecureListener(l.(*listener).Listener, s)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// S16: connections with slow headers, and idle connections, are closed.
func TestIdleConnectionsAreClosed(t *testing.T) {
	address := start(t, ServerOptions{Handler: http.NotFoundHandler()}, func(s *http.Server) {
		s.ReadHeaderTimeout, s.IdleTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	for _, sent := range []string{"", "POST / HTTP/1.1\r\nHost: localhost\r\nX: ",
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		io.WriteString(conn, sent)
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("after %q: %v, want the connection closed", sent, err)
		}
		conn.Close()
	}
}

func TestConnectionsAreCountedAndBounded(t *testing.T) {
	refused := make(chan struct{}, 1)
	connections := &Connections{Max: 2, Refused: func(string, net.Addr, string) {
		refused <- struct{}{}
	}}
	address := start(t, ServerOptions{Handler: authenticates, Connections: connections},
		func(*http.Server) {})
	var open []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
		if len(open) < 3 && !asks(conn) {
			t.Fatal("a connection that there is room for was closed")
		}
	}
	open[2].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := open[2].Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the third connection: %v, want it closed", err)
	}
	<-refused
	waitFor(t, func() bool { return connections.Open() == 2 })
	open[0].Close()
	waitFor(t, func() bool { return connections.Open() == 1 })
}

// authenticates answers every request as authenticated.
var authenticates = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if full := Claim(r, "acme", 0); full != "" {
		http.Error(w, full, http.StatusServiceUnavailable)
	}
})

// asks sends a request, and reports whether any byte of a response arrives.
func asks(conn net.Conn) bool {
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_, err := conn.Read(make([]byte, 1))
	return err == nil
}

// The connections of one address are limited. Other addresses have limits of their own, and a
// closed connection makes room.
func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	refused := make(chan struct{}, 1)
	connections := &Connections{PerAddress: 2, Refused: func(string, net.Addr, string) {
		refused <- struct{}{}
	}, Group: func(a netip.Addr) (netip.Prefix, bool) {
		p, err := a.Unmap().Prefix(32)
		return p, err == nil && a != netip.MustParseAddr("127.0.0.3")
	}}
	address := start(t, ServerOptions{Handler: http.NotFoundHandler(), Connections: connections},
		func(*http.Server) {})
	dial := func(from string) net.Conn {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	first := dial("127.0.0.1")
	if !asks(first) || !asks(dial("127.0.0.1")) {
		t.Fatal("an address has not the connections that it may have")
	}
	if asks(dial("127.0.0.1")) {
		t.Error("an address has more connections than it may")
	}
	<-refused
	for range 3 {
		if !asks(dial("127.0.0.3")) {
			t.Error("an address that is not counted was refused")
		}
	}
	if !asks(dial("127.0.0.2")) {
		t.Error("another address pays for it")
	}
	first.Close()
	waitFor(t, func() bool { return connections.Open() == 5 })
	if !asks(dial("127.0.0.1")) {
		t.Error("a connection that was closed makes no room")
	}
}

// A connection belongs to the tenant that it serves. Beyond the limit of the tenant it is refused,
// until another has closed.
func TestConnectionsThatServeOneAreBounded(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Claim(r, r.URL.Path, 2) != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	connections := &Connections{}
	address := start(t, ServerOptions{Handler: h, Connections: connections}, func(*http.Server) {})
	get := func(c *http.Client, path string) int {
		resp, err := c.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode
	}
	var clients []*http.Client
	for range 4 {
		c := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(c.CloseIdleConnections)
		clients = append(clients, c)
	}
	for i, want := range []int{200, 200, 503} {
		if got := get(clients[i], "/acme"); got != want {
			t.Errorf("connection %d: got %d, want %d", i, got, want)
		}
	}
	if got := get(clients[3], "/other"); got != 200 {
		t.Errorf("another: got %d, want it served", got)
	}
	if got := get(clients[0], "/acme"); got != 200 {
		t.Errorf("one that was counted: got %d, want it served", got)
	}
	clients[0].CloseIdleConnections()
	waitFor(t, func() bool { return connections.Open() == 3 })
	if got := get(clients[2], "/acme"); got != 200 {
		t.Errorf("after another has closed: got %d, want it served", got)
	}
}

// S14: the connection of a client that starts and cancels many requests is closed, after its
// in-flight requests are answered.
func TestRapidResetEndsTheConnection(t *testing.T) {
	cert, key, pool := certificate(t)
	begun := make(chan struct{}, 1)
	release := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stays":
			begun <- struct{}{}
			<-release
		case "/goes":
			begun <- struct{}{}
			<-r.Context().Done()
		}
		io.WriteString(w, r.RemoteAddr)
	})
	address := start(t, ServerOptions{Handler: h, Certificate: loaded(t, cert, key)},
		func(*http.Server) {})
	client := &http.Client{
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer client.CloseIdleConnections()
	get := func(ctx context.Context, path string) string {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		resp, err := client.Do(r)
		if err != nil {
			return err.Error()
		}
		return content(t, resp)
	}
	first := get(t.Context(), "/")
	stays := make(chan string, 1)
	go func() { stays <- get(t.Context(), "/stays") }()
	<-begun
	takeBack := func() {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { get(ctx, "/goes"); close(done) }()
		<-begun
		cancel()
		<-done
	}
	for range MaxResets / 2 {
		takeBack()
	}
	if again := get(t.Context(), "/"); again != first {
		t.Errorf("after %d the client is on %s, want %s", MaxResets/2, again, first)
	}
	for range MaxResets {
		takeBack()
	}
	waitFor(t, func() bool { get(t.Context(), "/"); return get(t.Context(), "/") != first })
	close(release)
	if got := <-stays; got != first {
		t.Errorf("the request in flight got %q, want its answer on %s", got, first)
	}
}

// A write deadline left by one answer does not affect the next request on the connection.
func TestWriteDeadlineIsFresh(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
		if r.URL.Path == "/first" {
			http.NewResponseController(w).Flush()
			http.NewResponseController(w).SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
		} else {
			<-time.After(40 * time.Millisecond)
		}
	})
	address := start(t, ServerOptions{Handler: h}, func(*http.Server) {})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/first", "/second"} {
		resp, err := client.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		if body := content(t, resp); body != "hello" {
			t.Errorf("%s: got %q", path, body)
		}
	}
}

// S15: TLS from files, 1.2 and later only, with HTTP/2.
func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	seen := make(chan string, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Proto })
	address := start(t, ServerOptions{Handler: h, Certificate: loaded(t, cert, key)},
		func(*http.Server) {})
	client := &http.Client{
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-seen; got != "HTTP/2.0" {
		t.Errorf("got %s, want HTTP/2.0", got)
	}
	if _, err := tls.Dial("tcp", address,
		&tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11,
			MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
}

func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

// loaded returns the certificate of two files.
func loaded(t *testing.T, cert, key string) *Certificate {
	t.Helper()
	c, err := LoadCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
