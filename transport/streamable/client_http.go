package streamable

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/transport"
)

const (
	// idleKept is how long an unused connection is kept. Servers commonly close theirs after 60 s or more; being first avoids the race.
	idleKept = 50 * time.Second
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

// checkHeader refuses what cannot be sent, without repeating a value: it may be a secret.
func checkHeader(h http.Header) error {
	for name, values := range h {
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !tokenRune(r) }):
			return fmt.Errorf("header %q is not a header name", name)
		case headers.Reserved(name):
			return fmt.Errorf("header %q is set by the protocol", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("the value of header %q holds a control character", name)
			}
		}
	}
	return nil
}

// tokenRune is the alphabet of header names (RFC 9110 §5.6.2).
func tokenRune(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// MaxRedirects is how many redirects of one request are followed.
const MaxRedirects = 3

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

// resolve makes the address of a redirect absolute: it is relative to that of the request (RFC 9110
// §10.2.2). One that is no address is left as it is.
func resolve(resp *http.Response, from *url.URL) {
	at := resp.Header.Get("Location")
	if at == "" {
		return
	}
	if to, err := from.Parse(at); err == nil {
		resp.Header.Set("Location", to.String())
	}
}

// redirect is where a response wants its request sent again as it is; nil for nowhere. That is followed
// within one origin only, because the request holds our credentials. Servers do so for the slash at the
// end of a path.
func (c *Client) redirect(resp *http.Response) *url.URL {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || to.User != nil || origin(to) != origin(c.url) {
		return nil
	}
	to.Fragment, to.RawFragment = "", ""
	return to
}

// sendTo is do to one address, and does not follow redirects.
func (c *Client) sendTo(ctx context.Context, to *url.URL, method, session string, body net.Buffers, extra http.Header) (resp *http.Response, wrote bool, err error) {
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

// dress is what the requests of one session that say nothing of their own have in common. It is not changed once it is kept.
type dress struct {
	session string
	version protocol.Version
	header  http.Header
	head    []byte // of a POST to the server, up to the length of its body; nil where net/http is to write it
}

// dressed is the header of a request: what is configured, what the session and the revision ask for, and what is the request's own.
func (c *Client) dressed(session string, extra http.Header) *dress {
	v := protocol.Version(c.version.Load())
	common := isCommon(extra)
	if kept := c.dress.Load(); common && kept != nil && kept.session == session && kept.version == v {
		return kept
	}
	d := &dress{session: session, version: v, header: make(http.Header, len(c.given)+7)}
	for name, values := range c.given {
		d.header[http.CanonicalHeaderKey(name)] = values
	}
	if d.header["User-Agent"] == nil {
		d.header["User-Agent"] = []string{"mcpd"}
	}
	d.header["Accept-Encoding"] = identity
	if session != "" {
		d.header["Mcp-Session-Id"] = []string{session}
	}
	if v.Has(protocol.VersionHeader) {
		d.header["Mcp-Protocol-Version"] = []string{v.String()}
	}
	maps.Copy(d.header, extra)
	if common {
		d.head = c.headOf(d.header)
		c.dress.Store(d)
	}
	return d
}

// headOf writes the head of a POST to the server that has a small body, if the transport sends such itself.
func (c *Client) headOf(header http.Header) []byte {
	r := &http.Request{Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: header}
	if t, own := c.transport.(*Transport); !own || t.proxied || !plain(r) {
		return nil
	}
	head, err := appendHead(nil, r)
	if err != nil {
		return nil // RoundTrip says what is wrong
	}
	return append(head, length...)
}

// isCommon reports whether a request says nothing of its own: its fields are those of postAccept, and not of a copy.
func isCommon(extra http.Header) bool {
	own := extra["Accept"]
	return len(extra) == len(postAccept) && len(own) > 0 && &own[0] == &postAccept["Accept"][0]
}

// delete ends the session. Whatever the server says to that, we are leaving.
func (c *Client) delete(ctx context.Context, session string) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	if resp, _, err := c.do(ctx, http.MethodDelete, session, nil, nil); err == nil {
		discard(resp)
	}
}

// current is the session id, empty before there is one.
func (c *Client) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// adopt keeps the session id that came with the answer to initialize.
func (c *Client) adopt(h http.Header) error {
	id := h.Get("Mcp-Session-Id") // others than visible ASCII, which the specification wants, are sent back as well; empty where there are none
	if !sendable(id) {
		return fmt.Errorf("the session id of %d bytes is too long or holds control characters", len(id))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
	return nil
}

// sendable reports whether a session id can be sent back.
func sendable(id string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return len(id) <= maxGivenSession && !strings.ContainsFunc(id, control)
}

// readopt keeps the session id of a later response to a POST, as the TypeScript SDK does: some
// servers replace theirs. Revisions without sessions have none.
func (c *Client) readopt(h http.Header) {
	id := h.Get("Mcp-Session-Id")
	if id == "" || c.version.Load() == 0 || c.stateless() || !sendable(id) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.session = id
	}
}

// MaxStale is how often a request is sent again whose session id was replaced while it was on its
// way.
const MaxStale = 8

// replaced reports whether a response with that status may mean that the session id that was sent
// has been replaced by now. Its request was not executed.
func (c *Client) replaced(status int, sent string) bool {
	refused := status == http.StatusNotFound || status == http.StatusBadRequest
	return sent != "" && refused && sent != c.current()
}

// media is the type of a body, without parameters.
func media(h http.Header) string {
	name, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// readAnswer reads a body up to max bytes. What is large waits for room before more of it is read.
func readAnswer(ctx context.Context, resp *http.Response, max int, room *transport.Hold) ([]byte, error) {
	if resp.ContentLength > int64(max) {
		return nil, protocol.TooLarge("answer of the server", max)
	}
	if n := resp.ContentLength; 0 < n && n < transport.Large {
		body := make([]byte, n)
		if _, err := io.ReadFull(resp.Body, body); err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		_, _ = resp.Body.Read(make([]byte, 1)) // its end, which frees the connection
		return body, nil
	}
	most := max
	if resp.ContentLength > 0 {
		most = int(resp.ContentLength)
	}
	body := make([]byte, 0, answerBuffer)
	for {
		if len(body) == cap(body) {
			if len(body) >= transport.Large {
				if err := room.Take(ctx, min(2*len(body), most)); err != nil {
					return nil, fmt.Errorf("read the answer: %w", err)
				}
			}
			body = transport.Grow(body, most+1)[:len(body)]
		}
		n, err := resp.Body.Read(body[len(body):cap(body)])
		switch body = body[:len(body)+n]; {
		case len(body) > max:
			return nil, protocol.TooLarge("answer of the server", max)
		case err == io.EOF:
			return settled(body), nil
		case err != nil:
			return nil, fmt.Errorf("read the answer: %w", err)
		}
	}
}

// discard ends a response whose body does not matter. A short one is read to its end, so that the connection can be used again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // an error closes the connection, as it should
	resp.Body.Close()
}
