package streamable

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Way is how requests get to a server. The zero Way is straight, to a server whose certificate an
// authority of the system has signed.
type Way struct {
	Proxy *url.URL       // http, https, socks5 or socks5h; may hold credentials. Nil is none
	Roots *x509.CertPool // authorities that servers and proxies are trusted by; nil is those of the system
	// Window is what a server may send of an answer over HTTP/2 before it is read, in bytes, which no
	// Room counts. 0 is LeastWindow.
	Window int
}

// LeastWindow is what a server may send of an answer over HTTP/2 before it is read in any case: as
// much as it may before it has read what it may send (RFC 9113 §6.9.2), and as a message may have
// without a Room. With MostWindow, which is net/http's own, nothing is slower for it.
const (
	LeastWindow = 64<<10 - 1
	MostWindow  = 4<<20 - 1
)

// NewTransportBy is NewTransport for a server that is reached in that way. Dial then opens
// connections to the proxy.
func NewTransportBy(dial Dial, way Way) *Transport {
	if dial == nil {
		dial = Direct
	}
	t := &Transport{dial: dial, proxied: way.Proxy != nil, other: &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    MaxPosts,
		IdleConnTimeout:        idleKept,
		TLSHandshakeTimeout:    handshakeTime,
		MaxResponseHeaderBytes: responseHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: cmp.Or(way.Window, LeastWindow),
		},
	}}
	if way.Roots != nil {
		t.other.TLSClientConfig = &tls.Config{RootCAs: way.Roots, MinVersion: tls.VersionTLS12}
	}
	if t.proxied {
		t.other.Proxy = http.ProxyURL(way.Proxy)
		t.other.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &ProxyError{Proxy: proxy.Host, Status: resp.StatusCode}
		}
	}
	return t
}

// ErrProxyVariable says that a proxy cannot be had from the environment.
var ErrProxyVariable = errors.New("HTTPS_PROXY or HTTP_PROXY holds no URL of a proxy")

// ProxyError is the refusal of a proxy to connect to a server.
type ProxyError struct {
	Proxy  string // host and port
	Status int
}

// Error says which proxy, and its status.
func (e *ProxyError) Error() string {
	return fmt.Sprintf("proxy %s refused to connect: status %d %s", e.Proxy, e.Status, http.StatusText(e.Status))
}
