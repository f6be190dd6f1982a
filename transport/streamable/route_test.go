package streamable_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// secure serves over TLS, with a certificate for a host.
func secure(t *testing.T, a *mcptest.Authority, host string, ends time.Duration,
	h http.Handler) (address string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = a.Certificate(host, ends)
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// pongs returns a server that answers ping.
func pongs() *peer {
	p := newPeer()
	p.posts["ping"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		answerJSON(w, jsonrpc.Response(m.ID, nil))
	}
	return p
}

func trusting(t *testing.T, a *mcptest.Authority) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.PEM()) {
		t.Fatal("no certificate")
	}
	return pool
}

// Requests go through the proxy, with and without TLS to the server, and with and without TLS to
// the proxy.
func TestClientGoesThroughAProxy(t *testing.T) {
	a := mcptest.NewAuthority(t)
	cleartext, _ := listen(t, pongs())
	behind, _ := url.Parse(cleartext)
	hosts := map[string]string{
		"plain.test": behind.Host, "tls.test:443": secure(t, a, "tls.test", time.Hour, pongs()),
	}
	const password = "user:secret"
	proxy, at := mcptest.NewProxy(t, hosts)
	proxy.Authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(password))
	at = strings.Replace(at, "://", "://"+password+"@", 1)
	secured := secure(t, a, "127.0.0.1.test", time.Hour, proxy)
	for _, c := range []struct{ name, proxy, server, seen string }{
		{"plain", at, "http://plain.test/mcp", "POST plain.test"},
		{"tunnel", at, "https://tls.test/mcp", "CONNECT tls.test:443"},
		{"a proxy with TLS", "https://" + password + "@127.0.0.1.test", "https://tls.test/mcp",
			"CONNECT tls.test:443"},
	} {
		t.Run(c.name, func(t *testing.T) {
			through, err := url.Parse(c.proxy)
			if err != nil {
				t.Fatal(err)
			}
			dial := streamable.Dial(func(ctx context.Context, network, address string) (net.Conn, error) {
				if address == "127.0.0.1.test:443" {
					address = secured
				}
				return streamable.Direct(ctx, network, address)
			})
			carrier := streamable.NewTransportVia(dial, streamable.Route{
				Proxy: through, Roots: trusting(t, a),
			})
			t.Cleanup(carrier.CloseIdleConnections)
			client := newTestClient(t, streamable.ClientOptions{URL: c.server, Transport: carrier})
			send(t, client, call(1, "ping"))
			expect(t, client, `1: {"jsonrpc":"2.0","id":1,"result":{}}`)
			if !slices.Contains(proxy.Seen(), c.seen) {
				t.Errorf("the proxy saw %v", proxy.Seen())
			}
		})
	}
}

// For an error that waiting does not fix, the obstacle says what to do. An error that waiting may
// fix is no obstacle.
func TestObstacles(t *testing.T) {
	a, other := mcptest.NewAuthority(t), mcptest.NewAuthority(t)
	cleartext, _ := listen(t, pongs())
	proxy, _ := url.Parse(cleartext)
	moved := func(status int, to string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		})
	}
	at := func(h http.Handler) string { u, _ := listen(t, h); return u }
	refusing := func(status int) string {
		p, u := mcptest.NewProxy(t, nil)
		p.Status = status
		return u
	}
	asking, asked := mcptest.NewProxy(t, nil)
	asking.Authorization = "x"
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, c := range []struct{ name, server, proxy, cause, do string }{
		{"unknown authority", "https://" + secure(t, other, "127.0.0.1", time.Hour, pongs()), "",
			streamable.CauseCertificate, "in `ca`"},
		{"expired", "https://good.test:" + port(secure(t, a, "good.test", -time.Minute, pongs())), "",
			streamable.CauseCertificate, "renewed"},
		{"another host", "https://good.test:" + port(secure(t, a, "other.test", time.Hour, pongs())), "",
			streamable.CauseCertificate, `is for "other.test"`},
		{"no TLS", "https://" + proxy.Host, "", streamable.CauseTLS, "write http"},
		{"no such name", "http://missing.test/mcp", "", streamable.CauseName,
			`"missing.test": correct the url`},
		{"no such proxy", "http://plain.test/mcp", "http://missing.test:3128", streamable.CauseName,
			`"missing.test": correct the proxy`},
		{"elsewhere", at(moved(307, "https://elsewhere.test/mcp?key=1")), "", streamable.CauseRedirect,
			`write "https://elsewhere.test/mcp" as its url`},
		{"another method", at(moved(301, "/mcp/")), "", streamable.CauseRedirect, `/mcp/" as its url`},
		{"in a circle", at(moved(308, "/mcp")), "", streamable.CauseRedirect, `/mcp" as its url`},
		{"to nowhere", at(moved(302, "")), "", streamable.CauseRedirect, "to no address"},
		{"credentials of a proxy", "http://plain.test/mcp", asked, streamable.CauseProxy,
			"wants credentials"},
		{"credentials of a tunnel", "https://tls.test/mcp", asked, streamable.CauseProxy,
			"wants credentials"},
		{"a tunnel that is not allowed", "https://tls.test/mcp", refusing(403), streamable.CauseProxy,
			"have it allowed"},

		{"a tunnel to nobody", "https://tls.test/mcp", refusing(502), "", ""},
		{"a proxy with nobody behind", "http://plain.test/mcp", refusing(502), "", ""},
		{"nobody", "http://" + gone.Addr().String(), "", "", ""},
		{"a refusal", at(http.NotFoundHandler()), "", "", ""},
		{"unchanged", at(moved(304, "")), "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			way := streamable.Route{Roots: trusting(t, a)}
			if c.proxy != "" {
				way.Proxy, _ = url.Parse(c.proxy)
			}
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				host, port, _ := net.SplitHostPort(address)
				switch host {
				case "good.test":
					address = "127.0.0.1:" + port
				case "missing.test": // as a resolver reports it
					return nil, &net.OpError{
						Op: "dial", Net: network,
						Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true},
					}
				}
				return streamable.Direct(ctx, network, address)
			}
			carrier := streamable.NewTransportVia(dial, way)
			t.Cleanup(carrier.CloseIdleConnections)
			client := newTestClient(t, streamable.ClientOptions{URL: c.server, Transport: carrier})
			send(t, client, call(1, "ping"))
			in := recv(t, client)
			got, ok := streamable.ObstacleOf(in.Err)
			if in.Err == nil || in.Written && c.cause != "" || ok != (c.cause != "") ||
				got.Cause != c.cause || !strings.Contains(got.Do, c.do) {
				t.Errorf("%s: %+v, %v", show(in), got, ok)
			}
		})
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
