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
	// smallBody is the largest body that is sent without reading at the same time: a server that answers before it has read all of it, and reads no
	// more, must not hold us up. Sockets take so much unread.
	smallBody = 64 << 10
	// wireBuffer is the largest buffer that is kept for the next request.
	wireBuffer = 8 << 10
)

// Transport sends requests to servers. What is small and goes to a server without TLS, which is most calls, goes over connections of its own,
// from the goroutine of whoever sends it: one write, and as a rule one read, where net/http wakes two goroutines. All else is left to net/http.
type Transport struct {
	dial    Dial
	proxied bool // everything is left to net/http, which speaks to proxies
	other   *http.Transport

	mu   sync.Mutex         // guards what follows
	idle map[string][]*wire // connections by address, those that were used last at the end
	tidy *time.Timer        // closes those that nobody has used in their time; nil while there are none
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.proxied || !plain(r) {
		return t.other.RoundTrip(r)
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

// post is RoundTrip for a POST whose head is written already, as head of a dress, and whose body is small.
func (t *Transport) post(ctx context.Context, address string, head, body []byte) (resp *http.Response, begun bool, err error) {
	buffer := requests.Get().(*[]byte)
	out := appendPost((*buffer)[:0], head, nil, body)
	defer reuse(buffer, out)
	return t.send(ctx, address, out, false)
}

// send sends a request that is written out over a connection that is kept, or a new one, and reads the head of its response. Begun says that some
// of the request, or all, may have reached the server: one that has is sent again only if it is harmless.
func (t *Transport) send(ctx context.Context, address string, out []byte, harmless bool) (resp *http.Response, begun bool, err error) {
	for {
		w, used, err := t.take(ctx, address)
		if err != nil {
			return nil, false, err
		}
		resp, begun, err = w.exchange(ctx, out)
		if err == nil || !used || begun && !harmless || ctx.Err() != nil {
			return resp, begun, err
		}
		// The server had closed it: nothing of the request has left, or what has changes nothing.
	}
}

// canonical is the address of a server, with its port.
func canonical(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return strings.TrimSuffix(u.Host, ":") + ":80"
}

// take is a connection that was used before and is good, or a new one.
func (t *Transport) take(ctx context.Context, address string) (w *wire, used bool, err error) {
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

// kept is a connection that was used before and is good; nil where there is none.
func (t *Transport) kept(address string) *wire {
	for {
		w := t.last(address)
		if w == nil || time.Since(w.since) < w.lasts && w.silent() {
			return w
		}
		_ = w.conn.Close() // the server has closed it, or is about to, or said what nobody asked
	}
}

// last takes the connection that was used last.
func (t *Transport) last(address string) *wire {
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

// keep has a connection for the next request.
func (t *Transport) keep(w *wire) {
	w.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle[w.address]) >= MaxPosts {
		_ = w.conn.Close() // it was of use
		return
	}
	if t.idle == nil {
		t.idle = map[string][]*wire{}
	}
	t.idle[w.address] = append(t.idle[w.address], w)
	if t.tidy == nil {
		t.tidy = time.AfterFunc(idleKept, t.expire)
	}
}

// Idle is how many connections of its own are kept for a next request; those of net/http are not told.
func (t *Transport) Idle() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kept := range t.idle {
		n += len(kept)
	}
	return n
}

// expire closes what was not used in its time, and comes again while there is more.
func (t *Transport) expire() {
	now := time.Now()
	t.drop(func(w *wire) bool { return now.Sub(w.since) >= w.lasts })
}

// CloseIdleConnections closes those that are kept for a next request.
func (t *Transport) CloseIdleConnections() {
	t.drop(func(*wire) bool { return true })
	t.other.CloseIdleConnections()
}

// drop closes connections that are kept.
func (t *Transport) drop(over func(*wire) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, kept := range t.idle {
		kept = slices.DeleteFunc(kept, func(w *wire) bool {
			if !over(w) {
				return false
			}
			_ = w.conn.Close() // it was of use
			return true
		})
		if len(kept) == 0 {
			delete(t.idle, address)
			continue
		}
		t.idle[address] = kept
	}
	switch {
	case t.tidy == nil:
	case len(t.idle) == 0:
		t.tidy.Stop()
		t.tidy = nil
	default:
		t.tidy.Reset(idleKept)
	}
}

// tellWritten tells whoever traces the request that it may have reached its server.
func tellWritten(ctx context.Context) {
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
}
