package streamable

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	// idleKept is how long an unused connection is kept if its server does not state a time. Servers
	// on Node.js and uvicorn close theirs after 5 s. The client of the TypeScript SDK (undici) gives
	// connections up after 4 s.
	idleKept = 4 * time.Second
	// maxIdleKept limits the time that a server states.
	maxIdleKept = 50 * time.Second
	// DialTime and handshakeTime limit the connection to a live server. DialTime includes the name
	// look-up.
	DialTime      = 10 * time.Second
	handshakeTime = 5 * time.Second
	// probeTime is the interval of TCP keep-alive probes, which detect that the machine of a server
	// has vanished.
	probeTime = 15 * time.Second
	// answerBuffer is the initial buffer for an answer that is large or of unknown length.
	answerBuffer = 8 << 10
	// responseHeaderBytes limits the header of a response, including the session id.
	responseHeaderBytes = 64 << 10
	// maxGivenSession limits the session id that a server assigns. Some ids are signed tokens.
	maxGivenSession = 4 << 10
)

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Direct dials any address, within DialTime.
func Direct(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: DialTime, KeepAlive: probeTime}).DialContext(ctx, network, address)
}

// NewTransport returns a Transport for requests to servers. dial decides which addresses may be
// reached; nil means Direct. The transport ignores proxies of the environment: see NewTransportVia.
// It does not request compressed bodies, and keeps up to MaxPosts idle connections to each server.
func NewTransport(dial Dial) *Transport { return NewTransportVia(dial, Route{}) }

// do sends one request. It bypasses http.Client, so cookies are not stored. wrote reports that
// bytes may have reached the server.
func (c *Client) do(ctx context.Context, method, session string, body net.Buffers,
	extra http.Header) (resp *http.Response, wrote bool, err error) {
	to := c.url
	if inbox := c.inbox.Load(); inbox != nil && method == http.MethodPost {
		to = inbox
	}
	for hops := 0; ; hops++ {
		resp, wrote, err = c.sendTo(ctx, to, method, session, body, extra)
		if err != nil {
			return resp, wrote, err
		}
		if isRedirect(resp.StatusCode) {
			resolve(resp, to)
		}
		next := c.redirect(resp)
		if next == nil || hops == MaxRedirects {
			return resp, wrote, nil
		}
		to = next
		discard(resp)
	}
}

// sendTo is like do for one address, and does not follow redirects.
func (c *Client) sendTo(ctx context.Context, to *url.URL, method, session string, body net.Buffers,
	extra http.Header) (resp *http.Response, wrote bool, err error) {
	if f, ok := ctx.(*inFlight); ok && f.sent.w != nil { // the request was sent already
		s := f.sent
		f.sent = sentRequest{}
		if resp, err = s.response(); err == nil {
			decode(resp, c.budget)
		}
		return resp, s.begun, err
	}
	d := c.templateFor(session, extra)
	if to == c.url && d.head != nil && method == http.MethodPost && len(body) == 1 &&
		len(body[0]) <= smallBody {
		resp, wrote, err = c.transport.(*Transport).post(ctx, canonical(to), d.head, body[0])
		if err == nil {
			decode(resp, c.budget)
		}
		return resp, wrote, err
	}
	var reached atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() {
		reached.Store(true)
	}})
	req := (&http.Request{Method: method, URL: to, Host: to.Host, Header: d.header}).WithContext(ctx)
	if body != nil {
		req.ContentLength = int64(size(body))
		sent := &sentBody{parts: body}
		req.GetBody = sent.open
		req.Body, _ = sent.open() // never fails
		defer sent.drop()
	}
	if resp, err = c.transport.RoundTrip(req); err == nil {
		decode(resp, c.budget)
	}
	return resp, reached.Load(), err
}

// size returns the number of bytes of a body.
func size(body net.Buffers) (n int) {
	for _, part := range body {
		n += len(part)
	}
	return n
}
