package streamable

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
)

// answersAddress is a Handler that answers with the caller's address.
var answersAddress = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, r.RemoteAddr)
})

// behind returns Connections whose proxies have the addresses of a network.
func behind(network string) *Connections {
	return &Connections{Proxied: netip.MustParsePrefix(network).Contains}
}

func header2(t *testing.T, command proxyproto.ProtocolVersionAndCommand) string {
	t.Helper()
	h := &proxyproto.Header{
		Version: 2, Command: command, TransportProtocol: proxyproto.TCPv6,
		SourceAddr:      &net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 4711},
		DestinationAddr: &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 443},
	}
	if command == proxyproto.LOCAL {
		h.TransportProtocol, h.SourceAddr, h.DestinationAddr = proxyproto.UNSPEC, nil, nil
	}
	bytes, err := h.Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes)
}

// local2 returns a header of a client that has connected to the proxy over a Unix socket.
func local2(t *testing.T) string {
	t.Helper()
	bytes, err := (&proxyproto.Header{
		Version: 2, Command: proxyproto.PROXY, TransportProtocol: proxyproto.UnixStream,
		SourceAddr:      &net.UnixAddr{Name: "/a", Net: "unix"},
		DestinationAddr: &net.UnixAddr{Name: "/b", Net: "unix"},
	}).Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes)
}

const plainRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// answerTo sends parts, one after the other, and reads one answer. The status is 0 if there is
// none.
func answerTo(t *testing.T, conn net.Conn, parts ...string) (status int, body string) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	for i, part := range parts {
		if i > 0 {
			time.Sleep(20 * time.Millisecond) // so that it arrives separately
		}
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(text)
}

func TestProxiesSayWhoHasConnected(t *testing.T) {
	const v1 = "PROXY TCP4 203.0.113.9 203.0.113.1 4711 443\r\n"
	v2, own := header2(t, proxyproto.PROXY), header2(t, proxyproto.LOCAL)
	for _, c := range []struct {
		name, from string // from is the network of the proxies
		parts      []string
		status     int
		want       string
	}{
		{"version 1", "127.0.0.0/8", []string{v1 + plainRequest}, 200, "203.0.113.9:4711"},
		{"version 2", "127.0.0.0/8", []string{v2 + plainRequest}, 200, "[2001:db8::7]:4711"},
		{"by itself", "127.0.0.0/8", []string{v1, plainRequest}, 200, "203.0.113.9:4711"},
		{"in pieces", "127.0.0.0/8",
			[]string{v2[:5], v2[5:20], v2[20:] + plainRequest[:3], plainRequest[3:]}, 200,
			"[2001:db8::7]:4711"},
		{"the proxy itself", "127.0.0.0/8", []string{own + plainRequest}, 200, "127.0.0.1:"},
		{"of a family that is not known", "127.0.0.0/8", []string{"PROXY UNKNOWN\r\n" + plainRequest},
			200, "127.0.0.1:"},
		// It would count as the proxy.
		{"of a client without an address", "127.0.0.0/8", []string{local2(t) + plainRequest}, 0, ""},
		{"none from a proxy", "127.0.0.0/8", []string{plainRequest}, 400, "proxy_protocol"},
		{"nonsense", "127.0.0.0/8", []string{"PROXY TCP4 a b c d\r\n" + plainRequest}, 400,
			"proxy_protocol"},
		{"two", "127.0.0.0/8", []string{v1 + v1 + plainRequest}, 400, ""},
		{"none from others", "192.0.2.0/24", []string{plainRequest}, 200, "127.0.0.1:"},
		{"version 1 from others", "192.0.2.0/24", []string{v1 + plainRequest}, 400,
			"add the address to trusted_proxies"},
		{"version 2 from others", "192.0.2.0/24", []string{v2 + plainRequest}, 400,
			"add the address to trusted_proxies"},
		{"a method of that name", "192.0.2.0/24", []string{"PROXY / HTTP/1.1\r\nHost: x\r\n\r\n"}, 200,
			"127.0.0.1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := start(t, ServerOptions{Handler: answersAddress, Connections: behind(c.from)},
				func(*http.Server) {})
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if status, body := answerTo(t, conn, c.parts...); status != c.status ||
				!strings.Contains(body, c.want) {
				t.Errorf("got %d %q, want %d %q", status, body, c.status, c.want)
			}
		})
	}
}

func TestProxiedConnectionsMayHaveTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	address := start(t, ServerOptions{Handler: answersAddress, Certificate: loaded(t, cert, key),
		Connections: behind("127.0.0.0/8")}, func(*http.Server) {})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, header2(t, proxyproto.PROXY)); err != nil {
		t.Fatal(err)
	}
	secure := tls.Client(conn, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
	if status, body := answerTo(t, secure, plainRequest); status != 200 ||
		body != "[2001:db8::7]:4711" {
		t.Errorf("got %d %q", status, body)
	}
}

// The limit per address applies to the client of the proxy, not to the proxy.
func TestProxiedConnectionsCountForTheirAddress(t *testing.T) {
	all := behind("127.0.0.0/8")
	all.PerAddress = 2
	all.Group = func(a netip.Addr) (netip.Prefix, bool) {
		return netip.PrefixFrom(a, a.BitLen()), !netip.MustParsePrefix("127.0.0.0/8").Contains(a)
	}
	address := start(t, ServerOptions{Handler: answersAddress, Connections: all},
		func(*http.Server) {})
	call := func(from string) int {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		status, _ := answerTo(t, conn, "PROXY TCP4 "+from+" 203.0.113.1 4711 443\r\n"+plainRequest)
		return status
	}
	for i, want := range []int{200, 200, 0, 0} {
		if got := call("203.0.113.9"); got != want {
			t.Errorf("connection %d: got %d, want %d", i+1, got, want)
		}
	}
	if got := call("203.0.113.10"); got != 200 {
		t.Errorf("another address: got %d", got)
	}
}

// Clients that send nothing after the header count too.
func TestSilentProxiedConnectionsCountForTheirAddress(t *testing.T) {
	all := behind("127.0.0.0/8")
	all.PerAddress = 2
	all.Group = func(a netip.Addr) (netip.Prefix, bool) {
		return netip.PrefixFrom(a, a.BitLen()), !netip.MustParsePrefix("127.0.0.0/8").Contains(a)
	}
	address := start(t, ServerOptions{Handler: answersAddress, Connections: all},
		func(*http.Server) {})
	const most = 2 * time.Second // shorter than the time limit of heads
	ended := make(chan error, 3)
	for range 3 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "PROXY TCP4 203.0.113.9 203.0.113.1 4711 443\r\n"); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(most))
		go func() {
			_, err := conn.Read(make([]byte, 1))
			ended <- err
		}()
	}
	if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a third silent connection of an address stays")
	}
}

// The time limit for the header is that of the header fields of a request.
func TestProxyHeadersHaveATime(t *testing.T) {
	address := start(t, ServerOptions{Handler: answersAddress, Connections: behind("127.0.0.0/8"),
		HeaderTime: 100 * time.Millisecond}, func(*http.Server) {})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun := time.Now()
	if status, _ := answerTo(t, conn, "PROXY TCP4 203"); status == 200 ||
		time.Since(begun) > 5*time.Second {
		t.Errorf("got %d after %s", status, time.Since(begun))
	}
}

// A client over a Unix socket counts as a user of this machine.
func TestUnixSocketsHaveAnAddress(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := NewHTTPServer(ServerOptions{Handler: answersAddress})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve((&Connections{}).Listener(l)) }()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if status, body := answerTo(t, conn, plainRequest); status != 200 ||
		!strings.HasPrefix(body, "127.0.0.1:") {
		t.Errorf("got %d %q", status, body)
	}
	server.Close()
	<-ended
}

// HTTP/2 without TLS works if it is enabled. Otherwise the refusal says how to enable it.
func TestHTTP2WithoutTLS(t *testing.T) {
	protocol := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto)
	})
	address := start(t, ServerOptions{Handler: protocol, H2C: true}, func(*http.Server) {})
	for version, set := range map[string]func(*http.Protocols){
		"HTTP/2.0": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
	} {
		transport := &http.Transport{Protocols: &http.Protocols{}}
		set(transport.Protocols)
		request, err := http.NewRequestWithContext(context.Background(), "GET", "http://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := transport.RoundTrip(request)
		if err != nil {
			t.Errorf("%s: %v", version, err)
			continue
		}
		if body, _ := io.ReadAll(r.Body); string(body) != version {
			t.Errorf("got %s, want %s", body, version)
		}
		r.Body.Close()
		transport.CloseIdleConnections()
	}
	s := serve(t, newTestHost(t), Options{})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if status, body := answerTo(t, conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); status != 405 ||
		!strings.Contains(body, "h2c: true") {
		t.Errorf("got %d %q", status, body)
	}
}
