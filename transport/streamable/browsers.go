package streamable

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// BrowserStreams is the maximum number of waiting streams (streams without a request in progress)
	// that pages of one origin may have open in one browser over HTTP/1.1. Browsers open at most six
	// connections to a host for all of their tabs: with a stream on each, no tab can send anything,
	// and the browser reports no error. Two connections are left for requests.
	BrowserStreams = 4
	// browserRetry is the additional reconnect delay for a page whose stream was closed to make room.
	// If there are more tabs than places, they then take turns slowly.
	browserRetry = 10 * time.Second
)

// browser identifies the browser instance whose pages share a limited number of connections, as far
// as the host can tell. The zero browser has no limit: it stands for clients that are no browser or
// do not use HTTP/1.1.
type browser struct{ origin, tenant, principal, address, agent string }

// browserOf finds the browser of a request. A browser that speaks https to a proxy in front of this
// host uses HTTP/2 there and needs no limit.
func browserOf(r *http.Request, ep Endpoint) browser {
	if r.ProtoMajor != 1 || secure(r) {
		return browser{}
	}
	origin := pageOf(r)
	if origin == "" {
		return browser{}
	}
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	return browser{origin, ep.Tenant, ep.Principal, address, r.UserAgent()}
}

// pageOf returns the origin of the page that sends a request, or "" if no page does. For a GET to
// the page's own host, browsers send no Origin header. They send Sec-Fetch-Site to loopback, and
// otherwise Referer. Sec-Fetch-Mode is no evidence of a browser, because Node's fetch sends it too.
func pageOf(r *http.Request) string {
	if origin := r.Header.Get("Origin"); origin != "" {
		return plainOrigin(origin)
	}
	own := originOf(schemeOf(r), r.Host)
	if r.Header.Get("Sec-Fetch-Site") == "same-origin" {
		return own
	}
	page, err := url.Parse(r.Header.Get("Referer"))
	if err == nil && page.Host != "" && originOf(page.Scheme, page.Host) == own {
		return own
	}
	return ""
}

// browsers holds the waiting streams of each browser, the longest waiting first.
type browsers struct {
	mu      sync.Mutex
	waiting map[browser][]*streamResponse
}

// waits registers a waiting stream until end is called. If there are too many, the longest waiting
// stream is closed, and its client is told when to reconnect.
func (s *browsers) waits(of browser, o *streamResponse) (end func()) {
	if of == (browser{}) {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[browser][]*streamResponse{}
	}
	all := append(s.waiting[of], o)
	if len(all) > BrowserStreams {
		first := all[0]
		all = slices.Delete(all, 0, 1)
		first.crowded.Store(true)
		first.evicted.Store(true)
		first.signal()
	}
	s.waiting[of] = all
	return func() { s.remove(of, o) }
}

func (s *browsers) remove(of browser, o *streamResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(s.waiting[of], func(other *streamResponse) bool { return other == o })
	if s.waiting[of] = all; len(all) == 0 {
		delete(s.waiting, of)
	}
}

// count returns the number of waiting streams.
func (s *browsers) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.waiting {
		n += len(all)
	}
	return n
}

// BrowserStreams returns the number of waiting streams that pages of browsers have open over
// HTTP/1.1.
func (h *Handler) BrowserStreams() int { return h.browsers.count() }

// idleRegistration registers a waiting stream, so that it can be closed in favour of other streams.
// The zero waiter registers nothing.
type idleRegistration struct {
	conn     *connection
	browsers *browsers
	browser  browser
}

func (h *Handler) waiter(r *http.Request, ep Endpoint) idleRegistration {
	return idleRegistration{connectionOf(r), &h.browsers, browserOf(r, ep)}
}

// waits registers a stream until end is called.
func (w idleRegistration) waits(o *streamResponse) (end func()) {
	if w.browsers == nil {
		return func() {}
	}
	leave, part := w.conn.waits(o), w.browsers.waits(w.browser, o)
	return func() { leave(); part() }
}
