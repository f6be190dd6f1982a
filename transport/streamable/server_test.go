package streamable

import (
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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServerBounds(t *testing.T) {
	s, err := NewHTTPServer(ServerOptions{Handler: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	if s.ReadHeaderTimeout != 5*time.Second || s.IdleTimeout != 75*time.Second || s.MaxHeaderBytes+4096 != 32<<10 || s.WriteTimeout != 0 {
		t.Errorf("got %v, %v, %d and %v", s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes, s.WriteTimeout)
	}
	if _, err := NewHTTPServer(ServerOptions{CertFile: "missing.pem"}); err == nil || !strings.Contains(err.Error(), `"missing.pem"`) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

// start serves until the test ends and returns the address.
func start(t *testing.T, o ServerOptions, ready func(*http.Server)) string {
	t.Helper()
	s, err := NewHTTPServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ready(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		if o.CertFile != "" {
			done <- s.ServeTLS(l, "", "")
			return
		}
		done <- s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// S16: headers that trickle in, and connections that do nothing, are closed.
func TestIdleConnectionsAreClosed(t *testing.T) {
	address := start(t, ServerOptions{Handler: http.NotFoundHandler()}, func(s *http.Server) {
		s.ReadHeaderTimeout, s.IdleTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	for _, sent := range []string{"", "POST / HTTP/1.1\r\nHost: localhost\r\nX: ", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
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
	connections := &Connections{Max: 2}
	address := start(t, ServerOptions{Handler: http.NotFoundHandler(), Connections: connections}, func(*http.Server) {})
	var open []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	open[2].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := open[2].Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the third connection: %v, want it closed", err)
	}
	waitFor(t, func() bool { return connections.Open() == 2 && connections.Refused() == 1 })
	open[0].Close()
	waitFor(t, func() bool { return connections.Open() == 1 })
}

// A write deadline that one answer left behind does not reach the next request on the connection.
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
	address := start(t, ServerOptions{Handler: h, CertFile: cert, KeyFile: key}, func(*http.Server) {})
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-seen; got != "HTTP/2.0" {
		t.Errorf("got %s, want HTTP/2.0", got)
	}
	if _, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
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
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
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
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: bytes}} {
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
