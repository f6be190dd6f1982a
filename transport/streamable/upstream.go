package streamable

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// smallBody is the largest body that is sent without reading the answer at the same time. A server
	// that answers early and stops reading must not block the client. Socket buffers hold this much.
	smallBody = 64 << 10
	// wireBuffer is the largest buffer that is pooled.
	wireBuffer = 8 << 10
)

// Transport sends requests to servers. Small requests without TLS, which are most calls, use
// connections managed here and run on the caller's goroutine. They take one write and usually one
// read, where net/http wakes two goroutines. Everything else is delegated to net/http.
type Transport struct {
	dial    Dial
	proxied bool // everything is delegated to net/http, which supports proxies
	std     *http.Transport

	mu   sync.Mutex                 // guards the rest
	idle map[string][]*upstreamConn // by address; most recently used last
	// closes connections whose idle time is over; nil while none is idle
	expiry *time.Timer
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.proxied || !plain(r) {
		return t.std.RoundTrip(r)
	}
	buffer := requests.Get().(*[]byte)
	out, err := appendRequest((*buffer)[:0], r)
	defer reuse(buffer, out)
	if err != nil {
		return nil, err
	}
	resp, begun, err := t.send(r.Context(), canonical(r.URL), out, r.Method == http.MethodGet)
	if begun {
		tellWritten(r.Context())
	}
	return resp, err
}

// post is like RoundTrip for a POST with a small body. head is its head in wire form, from a
// request template.
func (t *Transport) post(ctx context.Context, address string,
	head, body []byte) (resp *http.Response, begun bool, err error) {
	buffer := requests.Get().(*[]byte)
	out := appendPost((*buffer)[:0], head, nil, body)
	defer reuse(buffer, out)
	return t.send(ctx, address, out, false)
}

// send sends a request in wire form over an idle or a new connection, and reads the head of the
// response. begun reports whether some or all of the request may have reached the server. Such a
// request is repeated only if harmless is set.
func (t *Transport) send(ctx context.Context, address string, out []byte,
	harmless bool) (resp *http.Response, begun bool, err error) {
	for {
		w, used, err := t.take(ctx, address)
		if err != nil {
			return nil, false, err
		}
		resp, begun, err = w.exchange(ctx, out)
		if err == nil || !used || begun && !harmless || ctx.Err() != nil {
			return resp, begun, err
		}
		// The server had closed the connection: nothing of the request was sent, or the request has no
		// side effects.
	}
}

// canonical returns the address of a server, with its port.
func canonical(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return strings.TrimSuffix(u.Host, ":") + ":80"
}

// take returns a usable idle connection, or a new one.
func (t *Transport) take(ctx context.Context, address string) (w *upstreamConn, used bool,
	err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if w = t.kept(address); w != nil {
		return w, true, nil
	}
	conn, err := t.dial(ctx, "tcp", address)
	if err != nil {
		return nil, false, err
	}
	return newWire(t, address, conn), false, nil
}

// kept returns a usable idle connection, or nil if there is none.
func (t *Transport) kept(address string) *upstreamConn {
	for {
		w := t.last(address)
		if w == nil || time.Since(w.since) < w.idleLimit && w.isIdle() {
			return w
		}
		// The server has closed it, is about to close it, or has sent an unsolicited response.
		_ = w.conn.Close()
	}
}

// last removes and returns the most recently used idle connection.
func (t *Transport) last(address string) *upstreamConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.idle[address]
	n := len(kept)
	if n == 0 {
		return nil
	}
	w := kept[n-1]
	kept[n-1] = nil
	t.idle[address] = kept[:n-1]
	return w
}

// keep stores a connection for the next request.
func (t *Transport) keep(w *upstreamConn) {
	w.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle[w.address]) >= MaxPosts {
		_ = w.conn.Close() // enough connections are idle
		return
	}
	if t.idle == nil {
		t.idle = map[string][]*upstreamConn{}
	}
	t.idle[w.address] = append(t.idle[w.address], w)
	if t.expiry == nil {
		t.expiry = time.AfterFunc(idleKept, t.expire)
	}
}

// Idle returns the number of idle connections managed here. It does not count those of net/http.
func (t *Transport) Idle() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kept := range t.idle {
		n += len(kept)
	}
	return n
}

// expire closes connections whose idle time is over, and restarts its timer while any are left.
func (t *Transport) expire() {
	now := time.Now()
	t.drop(func(w *upstreamConn) bool { return now.Sub(w.since) >= w.idleLimit })
}

// CloseIdleConnections closes the idle connections.
func (t *Transport) CloseIdleConnections() {
	t.drop(func(*upstreamConn) bool { return true })
	t.std.CloseIdleConnections()
}

// drop closes the idle connections for which over returns true.
func (t *Transport) drop(over func(*upstreamConn) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, kept := range t.idle {
		kept = slices.DeleteFunc(kept, func(w *upstreamConn) bool {
			if !over(w) {
				return false
			}
			_ = w.conn.Close()
			return true
		})
		if len(kept) == 0 {
			delete(t.idle, address)
			continue
		}
		t.idle[address] = kept
	}
	switch {
	case t.expiry == nil:
	case len(t.idle) == 0:
		t.expiry.Stop()
		t.expiry = nil
	default:
		t.expiry.Reset(idleKept)
	}
}

// tellWritten tells a trace of the request that the request may have reached its server.
func tellWritten(ctx context.Context) {
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
}
