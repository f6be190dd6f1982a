package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mcpd/protocol"
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

// NewTransport makes what sends requests to upstream servers. Dial decides which addresses may be reached; nil is Direct. It uses no proxy,
// whatever the environment says, because a proxy would be dialled in the server's place; it does not ask for compressed bodies, because
// those have no bound; and it keeps as many idle connections to one server as may be in use.
func NewTransport(dial Dial) *Transport {
	if dial == nil {
		dial = Direct
	}
	return &Transport{dial: dial, other: &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    MaxPosts,
		IdleConnTimeout:        idleKept,
		TLSHandshakeTimeout:    handshakeTime,
		MaxResponseHeaderBytes: responseHeaderBytes,
	}}
}

// reserved are the headers that a configuration cannot set: those of the protocol, which we set, and those of one connection.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive", "Last-Event-Id",
	"Mcp-Protocol-Version", "Mcp-Session-Id", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeader refuses what cannot be sent, without repeating a value: it may be a secret.
func checkHeader(h http.Header) error {
	for name, values := range h {
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !tokenRune(r) }):
			return fmt.Errorf("header %q is not a header name", name)
		case slices.Contains(reserved, http.CanonicalHeaderKey(name)):
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

// do sends one request. Redirects are not followed and cookies not kept: it goes past http.Client. Wrote is set once bytes may have
// reached the server; it may be nil.
func (c *Client) do(ctx context.Context, method, session string, body []byte, extra http.Header, wrote *atomic.Bool) (*http.Response, error) {
	header := c.dressed(session, extra)
	if wrote != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	}
	to := c.url
	if inbox := c.inbox.Load(); inbox != nil && method == http.MethodPost {
		to = inbox
	}
	req := (&http.Request{Method: method, URL: to, Host: to.Host, Header: header}).WithContext(ctx)
	if body != nil {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody() // never fails
	}
	return c.transport.RoundTrip(req)
}

// dress is the header of the requests of one session that say nothing of their own. It is not changed once it is kept.
type dress struct {
	session string
	version protocol.Version
	header  http.Header
}

// dressed is the header of a request: what is configured, what the session and the revision ask for, and what is the request's own.
func (c *Client) dressed(session string, extra http.Header) http.Header {
	v := protocol.Version(c.version.Load())
	common := isCommon(extra)
	if kept := c.dress.Load(); common && kept != nil && kept.session == session && kept.version == v {
		return kept.header
	}
	header := make(http.Header, len(c.given)+6)
	for name, values := range c.given {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = []string{"mcpd"}
	}
	if session != "" {
		header["Mcp-Session-Id"] = []string{session}
	}
	if v.Has(protocol.VersionHeader) {
		header["Mcp-Protocol-Version"] = []string{v.String()}
	}
	maps.Copy(header, extra)
	if common {
		c.dress.Store(&dress{session, v, header})
	}
	return header
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
	if resp, err := c.do(ctx, http.MethodDelete, session, nil, nil, nil); err == nil {
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
	values := h["Mcp-Session-Id"]
	if len(values) == 0 {
		return nil // a server without sessions
	}
	id := values[0]
	if id == "" || len(id) > maxGivenSession || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return fmt.Errorf("the session id of %d bytes is empty, too long or not visible ASCII", len(id))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
	return nil
}

// media is the type of a body, without parameters.
func media(h http.Header) string {
	name, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// readAnswer reads a body up to max bytes. What is large waits for room before it is read.
func readAnswer(ctx context.Context, resp *http.Response, max int, room *transport.Hold) ([]byte, error) {
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, fmt.Errorf("the answer is encoded as %q, which was not asked for", encoding)
	}
	if resp.ContentLength > int64(max) {
		return nil, protocol.TooLarge("answer of the server", max)
	}
	var buf bytes.Buffer
	whole := io.LimitReader(resp.Body, int64(max)+1)
	_, err := buf.ReadFrom(io.LimitReader(whole, transport.Large))
	if err == nil && buf.Len() == transport.Large {
		size := max
		if resp.ContentLength > 0 {
			size = int(resp.ContentLength)
			buf.Grow(size - buf.Len() + bytes.MinRead)
		}
		if err = room.Take(ctx, size); err == nil {
			_, err = buf.ReadFrom(whole)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if buf.Len() > max {
		return nil, protocol.TooLarge("answer of the server", max)
	}
	return buf.Bytes(), nil
}

// discard ends a response whose body does not matter. A short one is read to its end, so that the connection can be used again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // an error closes the connection, as it should
	resp.Body.Close()
}
