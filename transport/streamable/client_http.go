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
	// idleKept is how long an unused connection is kept whose server does not say how long it keeps
	// it: servers on Node.js and uvicorn close theirs after 5 s, and the TypeScript SDK's client,
	// which is undici's, gives it up after as much.
	idleKept = 4 * time.Second
	// maxIdleKept is how long at most where the server says more.
	maxIdleKept = 50 * time.Second
	// DialTime and handshakeTime bound the way to a server that is there, from its name on.
	DialTime      = 10 * time.Second
	handshakeTime = 5 * time.Second
	// probeTime is how soon the system notices that a server's machine has vanished, on connections that say nothing.
	probeTime = 15 * time.Second
	// answerBuffer is what is set aside for an answer that is large or does not say its length.
	answerBuffer = 8 << 10
	// responseHeaderBytes bounds the header of a response, session id included.
	responseHeaderBytes = 64 << 10
	// maxGivenSession bounds the session id that a server gives us. Some are signed tokens.
	maxGivenSession = 4 << 10
)

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Direct dials any address, within DialTime.
func Direct(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: DialTime, KeepAlive: probeTime}).DialContext(ctx, network, address)
}

// NewTransport makes what sends requests to upstream servers. Dial decides which addresses may be
// reached; nil is Direct. It uses no proxy, whatever the environment says: see NewTransportBy. It does
// not ask for compressed bodies, see decode; and it keeps as many idle connections to one server as may
// be in use.
func NewTransport(dial Dial) *Transport { return NewTransportBy(dial, Way{}) }

// do sends one request. Cookies are not kept: it goes past http.Client. Wrote says that bytes may have
// reached the server.
func (c *Client) do(ctx context.Context, method, session string, body net.Buffers, extra http.Header) (resp *http.Response, wrote bool, err error) {
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

// sendTo is do to one address, and does not follow redirects.
func (c *Client) sendTo(ctx context.Context, to *url.URL, method, session string, body net.Buffers, extra http.Header) (resp *http.Response, wrote bool, err error) {
	if f, ok := ctx.(*flight); ok && f.sent.w != nil { // it is on its way
		s := f.sent
		f.sent = sent{}
		if resp, err = s.response(); err == nil {
			decode(resp, c.room)
		}
		return resp, s.begun, err
	}
	d := c.dressed(session, extra)
	if to == c.url && d.head != nil && method == http.MethodPost && len(body) == 1 && len(body[0]) <= smallBody {
		resp, wrote, err = c.transport.(*Transport).post(ctx, canonical(to), d.head, body[0])
		if err == nil {
			decode(resp, c.room)
		}
		return resp, wrote, err
	}
	var reached atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { reached.Store(true) }})
	req := (&http.Request{Method: method, URL: to, Host: to.Host, Header: d.header}).WithContext(ctx)
	if body != nil {
		req.ContentLength = int64(size(body))
		sent := &sentBody{parts: body}
		req.GetBody = sent.open
		req.Body, _ = sent.open() // never fails
		defer sent.drop()
	}
	if resp, err = c.transport.RoundTrip(req); err == nil {
		decode(resp, c.room)
	}
	return resp, reached.Load(), err
}

// size is how many bytes a body has.
func size(body net.Buffers) (n int) {
	for _, part := range body {
		n += len(part)
	}
	return n
}
