package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"sync"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/fault"
	"mcpd/internal/regular"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/faulty"
	"mcpd/transport/streamable"
)

// maxCA is the largest file of certificates that is read, in bytes. The certificates of all public
// authorities take a quarter of it.
const maxCA = 1 << 20

func (h *host) dialURL(t *tenant.Tenant, s tenant.Server) client.Dial {
	o := streamable.ClientOptions{
		URL: s.URL.Reveal(), Header: http.Header{}, Queued: h.queuedOf(t.Name),
		Room: h.answerBudget(t.Name),
	}
	o.Dialect = h.dialectOf(serverName{t.Name, s.Name}, s.URL.Reveal(), s.Link() == tenant.SSE)
	for name, value := range s.Headers {
		o.Header.Set(name, value.Reveal())
	}
	through := &route{
		url: s.URL.Reveal(), proxy: s.Proxy.Reveal(), ca: s.CA.Reveal(), pools: &h.transports,
		window: h.window(),
		dial: faulty.Dial(streamable.Direct, streamable.DialTime, h.faults, fault.Who{
			Tenant: t.Name, Server: s.Name,
		}),
	}
	return func(context.Context, otp.Ref) (transport.Upstream, error) {
		o := o
		o.MaxDepth, o.MaxMembers = h.now().config.Edge.AnswerDepth, h.now().config.Edge.AnswerMembers
		var err error
		if o.Transport, err = through.transport(); err != nil {
			return nil, err
		}
		return streamable.NewClient(o)
	}
}

// route is the way to a server behind a URL: its HTTP connections. They are used as long as the
// certificates in the file ca do not change.
type route struct {
	url, proxy, ca string // as configured
	dial           streamable.Dial
	pools          *transports
	window         int // see streamable.Route

	mu    sync.Mutex // guards the fields below: a dial that hung may return during the next
	pem   []byte
	using *streamable.Transport
}

// transport returns the transport that sends requests this way.
func (r *route) transport() (*streamable.Transport, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pem, err := readCA(r.ca)
	if err != nil {
		return nil, &streamable.CAError{File: r.ca, Err: err}
	}
	if r.using != nil && bytes.Equal(pem, r.pem) {
		return r.using, nil
	}
	way := streamable.Route{Window: r.window}
	if way.Proxy, err = proxyFor(r.url, r.proxy, http.ProxyFromEnvironment); err != nil {
		return nil, err
	}
	if way.Roots, err = rootsWith(pem); err != nil {
		return nil, &streamable.CAError{File: r.ca, Err: err}
	}
	r.pem, r.using = pem, r.pools.add(streamable.NewTransportVia(r.dial, way))
	return r.using, nil
}

var errNoCertificate = errors.New("it contains no certificate (PEM)")

// readCA reads a file of certificates. An empty name means no file.
func readCA(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := regular.Read(file, maxCA)
	if err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // without the name, which the caller adds
	}
	if len(pem) == 0 {
		return nil, errNoCertificate
	}
	return pem, nil
}

// rootsWith returns the authorities of the system and those in pem, nil for those of the system
// alone.
func rootsWith(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errNoCertificate
	}
	return roots, nil
}

// proxyFor returns the proxy through which a server is reached, nil for none: the configured one,
// otherwise the one in the standard environment variables.
func proxyFor(server, configured string,
	environment func(*http.Request) (*url.URL, error)) (*url.URL, error) {
	switch configured {
	case tenant.DirectProxy:
		return nil, nil
	case "":
		u, err := url.Parse(server)
		if err != nil {
			return nil, nil // the client reports the bad URL
		}
		proxy, err := environment(&http.Request{URL: u})
		if err != nil { // the error may hold a password
			return nil, streamable.ErrProxyVariable
		}
		return proxy, nil
	}
	return url.Parse(configured) // the configuration was checked
}
