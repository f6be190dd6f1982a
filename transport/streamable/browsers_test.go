package streamable

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mcpd/protocol"
)

// Pages of one origin must not use all connections that their browser has to the host. The longest
// waiting of their idle streams ends with a retry hint, and reconnects later.
func TestStreamsOfABrowserAreBounded(t *testing.T) {
	const origin = "https://app.example"
	for name, page := range map[string][]string{
		"another origin": {"Origin", origin},
		// Browsers omit Origin in a GET to the page's own host, and Sec-Fetch-Site if that host is not
		// loopback and does not use https.
		"the own origin":                 {"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"},
		"the own origin beyond loopback": {"Referer", "http://HOST/chat?id=1"},
	} {
		t.Run(name, func(t *testing.T) { boundedStreams(t, origin, page) })
	}
}

func boundedStreams(t *testing.T, origin string, page []string) {
	host := newTestHost(t)
	s := serve(t, host, Options{Origins: []string{origin}})
	open := func(header ...string) *events {
		id := s.session(protocol.V20251125)
		return readStream(t, s.get(append(header, "Mcp-Session-Id", id)...))
	}
	page = slices.Clone(page)
	for i := range page {
		page[i] = strings.ReplaceAll(page[i], "HOST", s.Listener.Addr().String())
	}
	var others []*events // not from a browser: Node's fetch sends the mode, but no site
	for range 7 {
		others = append(others, open("Sec-Fetch-Mode", "cors"))
	}
	var tabs []*events
	for i := range 7 {
		tabs = append(tabs, open(page...))
		if i < BrowserStreams { // until it waits, another may register before it
			waitFor(t, func() bool { return s.handler.BrowserStreams() == i+1 })
			continue
		}
		first := tabs[i-BrowserStreams]
		first.next() // the primer
		if e := first.next(); e.Retry < browserRetry {
			t.Errorf("stream %d ends with %+v", i-BrowserStreams, e)
		}
		if rest := first.rest(); len(rest) != 0 {
			t.Errorf("stream %d goes on with %q", i-BrowserStreams, rest)
		}
	}
	if n := s.handler.BrowserStreams(); n != BrowserStreams {
		t.Errorf("%d streams of browsers are counted, want %d", n, BrowserStreams)
	}
	last := open(append(slices.Clip(page), "User-Agent", "another browser")...)
	waitFor(t, func() bool { return s.handler.BrowserStreams() == BrowserStreams+1 })
	host.mu.Lock()
	defer host.mu.Unlock()
	live := 0
	for _, session := range host.sessions {
		live += session.streams.Open()
	}
	if want := len(others) + BrowserStreams + 1; live != want {
		t.Errorf("%d streams are open, want %d", live, want)
	}
	for _, tab := range append(tabs, last) {
		tab.resp.Body.Close()
	}
	waitFor(t, func() bool { return s.handler.BrowserStreams() == 0 })
}

// A channel counts while no request of its client is in flight.
func TestChannelsOfABrowserAreBounded(t *testing.T) {
	var all browsers
	o := make([]streamResponse, BrowserStreams+2)
	for i := range o {
		o[i] = makeStreamResponse()
	}
	of := browser{origin: "https://app.example"}
	ends := []func(){}
	for i := range BrowserStreams {
		ends = append(ends, all.waits(of, &o[i]))
	}
	ends[0]() // a request is in flight
	all.waits(of, &o[BrowserStreams])
	if o[0].evicted.Load() || o[1].evicted.Load() {
		t.Error("a stream was ended although there was room")
	}
	all.waits(of, &o[0])
	if !o[1].evicted.Load() || o[0].evicted.Load() {
		t.Error("the one that has waited longest goes on")
	}
	for i := range o {
		all.remove(of, &o[i])
	}
	if len(all.waiting) != 0 {
		t.Errorf("left are %v", all.waiting)
	}
}

// Pages of one origin count together, whichever header states their origin.
func TestPagesOfOneOrigin(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{"Origin": {"http://Localhost:80"}}, "http://localhost"},
		{http.Header{"Sec-Fetch-Site": {"same-origin"}}, "http://localhost"},
		{http.Header{"Referer": {"http://localhost/chat"}}, "http://localhost"},
		{http.Header{"Referer": {"http://localhost:80/"}, "Sec-Fetch-Mode": {"cors"}},
			"http://localhost"},
		{http.Header{"Origin": {"https://app.example"}, "Referer": {"https://app.example/"}},
			"https://app.example"},
		{http.Header{"Referer": {"https://app.example/"}}, ""},
		{http.Header{"Referer": {"no URL"}}, ""},
		{http.Header{"Sec-Fetch-Site": {"none"}}, ""},
		{http.Header{"Sec-Fetch-Mode": {"cors"}}, ""},
		{http.Header{}, ""},
	} {
		if got := pageOf(&http.Request{Host: "localhost", Header: c.header}); got != c.want {
			t.Errorf("%v: got %q, want %q", c.header, got, c.want)
		}
	}
}

// Only clients with a limited number of connections have a limit.
func TestBrowsersWithoutBound(t *testing.T) {
	ep := Endpoint{Tenant: "acme"}
	request := func(change func(*http.Request)) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/mcp", nil)
		r.Header.Set("Origin", "https://app.example")
		change(r)
		return r
	}
	for name, change := range map[string]func(*http.Request){
		"no origin": func(r *http.Request) { r.Header.Del("Origin") },
		"HTTP/2":    func(r *http.Request) { r.ProtoMajor = 2 },
		"TLS":       func(r *http.Request) { r.TLS = &tls.ConnectionState{} },
	} {
		if got := browserOf(request(change), ep); got != (browser{}) {
			t.Errorf("%s: bounded as %v", name, got)
		}
	}
	if r := request(func(*http.Request) {}); browserOf(WithScheme(r, true), ep) != (browser{}) ||
		browserOf(r, ep) == (browser{}) {
		t.Error("a proxy's https counts wrongly")
	}
}
