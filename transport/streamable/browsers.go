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
	// BrowserStreams is how many streams that only wait the pages of one origin may have open in one
	// browser over HTTP/1.1. Browsers have six connections to a host for all their tabs: with a stream
	// on each, no tab can send anything, and none is told why. Two are left for requests.
	BrowserStreams = 4
	// browserRetry is how much longer than others a page waits whose stream has made room, so that
	// more tabs than there is room for take turns at a leisurely pace.
	browserRetry = 10 * time.Second
)

// browser is whose connections run short together, as far as that can be told. The zero browser has
// no bound: what it speaks is not HTTP/1.1, or it is none.
type browser struct{ origin, tenant, principal, address, agent string }

// browserOf finds the browser of a request. One that speaks https to a proxy before us has HTTP/2
// there.
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

// pageOf is the origin of the page that sends a request; empty if none does. For a GET to the
// page's own host browsers send no Origin. They send Sec-Fetch-Site to loopback, and otherwise
// Referer. Sec-Fetch-Mode says nothing: Node's fetch sends it too.
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

// browsers are those that have streams which only wait, the one that has waited longest first.
type browsers struct {
	mu      sync.Mutex
	waiting map[browser][]*outlet
}

// waits takes note of a stream that only waits, until end is called. With one too many the first is
// ended: its client is told when to come back.
func (s *browsers) waits(of browser, o *outlet) (end func()) {
	if of == (browser{}) {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[browser][]*outlet{}
	}
	all := append(s.waiting[of], o)
	if len(all) > BrowserStreams {
		first := all[0]
		all = slices.Delete(all, 0, 1)
		first.crowded.Store(true)
		first.parted.Store(true)
		first.signal()
	}
	s.waiting[of] = all
	return func() { s.remove(of, o) }
}

func (s *browsers) remove(of browser, o *outlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(s.waiting[of], func(other *outlet) bool { return other == o })
	if s.waiting[of] = all; len(all) == 0 {
		delete(s.waiting, of)
	}
}

// count is how many streams only wait.
func (s *browsers) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.waiting {
		n += len(all)
	}
	return n
}

// BrowserStreams is how many streams that only wait pages of browsers have open over HTTP/1.1.
func (h *Handler) BrowserStreams() int { return h.browsers.count() }

// waiter is where a stream that only waits is noted, so that it can be ended for others. The zero
// waiter is of one that is not to be.
type waiter struct {
	conn     *connection
	browsers *browsers
	browser  browser
}

func (h *Handler) waiter(r *http.Request, ep Endpoint) waiter {
	return waiter{connectionOf(r), &h.browsers, browserOf(r, ep)}
}

// waits takes note of a stream, until end is called.
func (w waiter) waits(o *outlet) (end func()) {
	if w.browsers == nil {
		return func() {}
	}
	leave, part := w.conn.waits(o), w.browsers.waits(w.browser, o)
	return func() { leave(); part() }
}
