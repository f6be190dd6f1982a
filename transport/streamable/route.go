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

// Route is the route to a server. The zero Route connects directly and trusts the certificate
// authorities of the system.
type Route struct {
	Proxy *url.URL       // http, https, socks5 or socks5h; may contain credentials; nil means no proxy
	Roots *x509.CertPool // trusted authorities for servers and proxies; nil means those of the system
	// Window is the HTTP/2 flow-control window of each answer, in bytes: how much a server may send
	// before it is read. No Room counts these bytes. 0 means MinWindow.
	Window int
}

// MinWindow is the smallest HTTP/2 window: as much as a server may send before it has read the
// client's settings (RFC 9113 §6.9.2), and as large as a message that needs no Room. MaxWindow,
// the default of net/http, does not slow down any answer.
const (
	MinWindow = 64<<10 - 1
	MaxWindow = 4<<20 - 1
)

// NewTransportVia is like NewTransport for a server that is reached by way. With a proxy, dial
// opens connections to the proxy.
func NewTransportVia(dial Dial, way Route) *Transport {
	if dial == nil {
		dial = Direct
	}
	t := &Transport{dial: dial, proxied: way.Proxy != nil, std: &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    MaxPosts,
		IdleConnTimeout:        idleKept,
		TLSHandshakeTimeout:    handshakeTime,
		MaxResponseHeaderBytes: responseHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: cmp.Or(way.Window, MinWindow),
		},
	}}
	if way.Roots != nil {
		t.std.TLSClientConfig = &tls.Config{RootCAs: way.Roots, MinVersion: tls.VersionTLS12}
	}
	if t.proxied {
		t.std.Proxy = http.ProxyURL(way.Proxy)
		t.std.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request,
			resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &ProxyError{Proxy: proxy.Host, Status: resp.StatusCode}
		}
	}
	return t
}

// ErrProxyVariable says that the environment contains no valid proxy URL.
var ErrProxyVariable = errors.New("HTTPS_PROXY or HTTP_PROXY is not the URL of a proxy")

// ProxyError is the refusal of a proxy to connect to a server.
type ProxyError struct {
	Proxy  string // host and port
	Status int
}

// Error names the proxy and its status.
func (e *ProxyError) Error() string {
	return fmt.Sprintf("proxy %s refused to connect: status %d %s", e.Proxy, e.Status,
		http.StatusText(e.Status))
}
