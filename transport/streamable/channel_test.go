package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// channelClient is a client of HTTP+SSE.
type channelClient struct {
	*events
	s    *testServer
	at   string // address for POSTs
	who  string
	seen string // the id of the last event
}

func (s *testServer) at(req *http.Request, path string) *http.Request {
	at, err := req.URL.Parse(path)
	if err != nil {
		s.t.Fatal(err)
	}
	req.URL = at
	return req
}

// stream opens a stream and reads the address for POSTs.
func (s *testServer) stream(ctx context.Context, who string) *channelClient {
	s.t.Helper()
	e := readStream(s.t, s.do(s.at(s.request(ctx, http.MethodGet, "", "Authorization", who),
		"/t/acme/sse")))
	first := e.next()
	ticket, ok := strings.CutPrefix(string(first.Data), "?ticket=")
	if first.Type != "endpoint" || !ok || !strings.HasPrefix(first.ID, ticket+".") ||
		first.Retry == 0 {
		s.t.Fatalf("the stream begins with %+v", first)
	}
	return &channelClient{
		events: e, s: s, at: "/t/acme/sse" + string(first.Data), who: who, seen: first.ID,
	}
}

// next returns the next event and stores its id.
func (c *channelClient) next() Event {
	c.t.Helper()
	e := c.events.next()
	c.seen = e.ID
	return e
}

// back reopens the stream, from the last event that the client has.
func (c *channelClient) back() (status int) {
	c.t.Helper()
	c.resp.Body.Close()
	resp := c.s.do(c.s.at(c.s.request(c.t.Context(), http.MethodGet, "", "Authorization", c.who,
		"Last-Event-Id", c.seen), "/t/acme/sse"))
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode
	}
	c.events = readStream(c.t, resp)
	if e := c.next(); e.Type != "endpoint" || "/t/acme/sse"+string(e.Data) != c.at {
		c.t.Fatalf("the stream goes on with %+v", e)
	}
	return http.StatusOK
}

func (c *channelClient) post(body string, header ...string) (status int, text string) {
	c.t.Helper()
	req := c.s.at(c.s.request(c.t.Context(), http.MethodPost, body,
		append(header, "Authorization", c.who)...), c.at)
	resp := c.s.do(req)
	return resp.StatusCode, content(c.t, resp)
}

// say posts a message that must be accepted.
func (c *channelClient) say(body string) {
	c.t.Helper()
	if status, text := c.post(body); status != http.StatusAccepted || text != "" {
		c.t.Fatalf("%s is answered %d %q", body, status, text)
	}
}

// begin initializes.
func (c *channelClient) begin(v protocol.Version) *channelClient {
	c.t.Helper()
	c.say(initializeBody(v))
	if got := string(c.next().Data); !strings.Contains(got, `"protocolVersion":"`+v.String()) {
		c.t.Fatalf("initialize is answered %s", got)
	}
	return c
}

// An HTTP+SSE client receives everything on its one stream: answers, messages that belong to a
// request, and other messages.
func TestChannelCarriesEverything(t *testing.T) {
	host := newTestHost(t)
	host.scripts["busy"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		_ = out.Send(note("notifications/progress", 1))
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(`{"n":2}`)))
		if out.Send(note("notifications/progress", 3)) != transport.ErrClosed ||
			out.Finish(jsonrpc.Response(m.ID, nil)) {
			t.Error("the exchange goes on after its outcome")
		}
	}
	s := serve(t, host, Options{})
	for _, v := range []protocol.Version{protocol.V20241105, protocol.V20250326, protocol.V20250618,
		protocol.V20251125} {
		c := s.stream(t.Context(), "ann").begin(v)
		c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.say(`{"jsonrpc":"2.0","id":"a","method":"busy"}`)
		session := host.last()
		if e := c.next(); e.ID == "" || e.Type != "" ||
			string(e.Data) != line(note("notifications/progress", 1)) {
			t.Errorf("got %+v, want the progress and an id", e)
		}
		if e := c.next(); string(e.Data) != `{"jsonrpc":"2.0","id":"a","result":{"n":2}}` {
			t.Errorf("got %s", e.Data)
		}
		if err := session.streams.Push(note("notifications/message", 4)); err != nil {
			t.Error(err)
		}
		if e := c.next(); string(e.Data) != line(note("notifications/message", 4)) {
			t.Errorf("got %s", e.Data)
		}
		_ = session.Close(t.Context())
		if rest := c.rest(); len(rest) != 0 {
			t.Errorf("got %q", rest)
		}
		if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"echo"}`); status !=
			http.StatusNotFound {
			t.Errorf("a POST after the session is answered %d, want 404", status)
		}
		if status := c.back(); status != http.StatusNotFound {
			t.Errorf("a GET after the session is answered %d, want 404", status)
		}
		if len(session.delivered) != 1 ||
			session.streams.Push(note("notifications/message", 5)) != transport.ErrClosed {
			t.Errorf("the session was given %v", session.delivered)
		}
	}
	if n := len(s.handler.channels.byTicket) + len(s.handler.channels.unopened); n != 0 {
		t.Errorf("%d channels are left", n)
	}
}

// last returns the session that was opened last.
func (h *testHost) last() *testSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == nil {
		return nil
	}
	return h.sessions[h.newest.id]
}

// A ticket is valid only for its owner and endpoint. Refusals have a status of their own, and the
// session continues.
func TestChannelRefusals(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	c := s.stream(t.Context(), "ann").begin(protocol.V20250618)
	const ping = `{"jsonrpc":"2.0","id":7,"method":"echo","params":{}}`
	for _, row := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		reason                   string
	}{
		{"no ticket", "POST", "/t/acme/sse/message", ping, nil, 400, "ticket_required"},
		{"the long path", "POST", "/t/acme/sse/message?" + strings.TrimPrefix(c.at, "/t/acme/sse?"), "{",
			nil, 400, ""},
		{"foreign stream", "GET", "/t/acme/sse", "",
			[]string{"Authorization", "bob", "Last-Event-Id", c.seen}, 404, "session_gone"},
		{"unknown event", "GET", "/t/acme/sse", "", []string{"Last-Event-Id", "x.1"}, 404,
			"session_gone"},
		{"no event", "GET", "/t/acme/sse", "", []string{"Last-Event-Id", "x"}, 404, "session_gone"},
		{"as a session of Streamable HTTP", "POST", "/t/acme/mcp", ping,
			[]string{"Mcp-Session-Id", strings.TrimPrefix(c.at, "/t/acme/sse?ticket=")}, 404,
			"session_gone"},
		{"unknown ticket", "POST", "/t/acme/sse/message?ticket=x", ping, nil, 404, "session_gone"},
		{"foreign principal", "POST", c.at, ping, []string{"Authorization", "bob"}, 404, "session_gone"},
		{"POST to the stream", "POST", "/t/acme/sse", ping, nil, 405, "http_method"},
		{"GET of the messages", "GET", "/t/acme/sse/message", "", nil, 405, "http_method"},
		{"DELETE", "DELETE", "/t/acme/sse", "", nil, 405, "http_method"},
		{"stream not accepted", "GET", "/t/acme/sse", "", []string{"Accept", "application/json"},
			406, "accept"},
		{"foreign origin", "POST", c.at, ping, []string{"Origin", "http://evil.example"}, 403, "origin"},
		{"text", "POST", c.at, ping, []string{"Content-Type", "text/plain"}, 415, "media_type"},
		{"no JSON", "POST", c.at, "{", nil, 400, ""},
		{"array", "POST", c.at, "[" + ping + "]", nil, 400, "invalid_request"},
		{"modern by header", "POST", c.at, ping, []string{"Mcp-Protocol-Version", "2026-07-28"}, 400,
			"wrong_era"},
		{"other revision", "POST", c.at, ping, []string{"Mcp-Protocol-Version", "2025-11-25"}, 400,
			"other_version"},
		{"unknown revision", "POST", c.at, ping, []string{"Mcp-Protocol-Version", "x"}, 400,
			"unknown_version"},
	} {
		t.Run(row.name, func(t *testing.T) {
			header := append([]string{"Authorization", "ann"}, row.header...)
			resp := s.do(s.at(s.request(t.Context(), row.method, row.body, header...), row.path))
			if text := content(t, resp); resp.StatusCode != row.status ||
				!strings.Contains(text, row.reason) {
				t.Errorf("got %d %s, want %d %s", resp.StatusCode, text, row.status, row.reason)
			}
			if want := map[string]string{"POST": "GET", "DELETE": "GET",
				"GET": "POST"}[row.method]; row.status == 405 && resp.Header.Get("Allow") != want {
				t.Errorf("Allow is %q, want %q", resp.Header.Get("Allow"), want)
			}
		})
	}
	if status, _ := c.post(ping, "Mcp-Protocol-Version", "2025-06-18"); status != http.StatusAccepted {
		t.Errorf("the session's own revision is answered %d", status)
	}
	if e := c.next(); string(e.Data) != `{"jsonrpc":"2.0","id":7,"result":{}}` {
		t.Errorf("got %s", e.Data)
	}
}

// A request that cannot be served is answered on the stream, where its client expects answers.
func TestChannelAnswersRefusedRequestsOnTheStream(t *testing.T) {
	host := newTestHost(t)
	hold := make(chan struct{})
	host.scripts["hold"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		<-hold
		out.Finish(jsonrpc.Message{})
	}
	host.refuse = map[string]error{"full": protocol.Overloaded("session", 0)}
	s := serve(t, host, Options{})
	c := s.stream(t.Context(), "ann")
	expect := func(body, want string) {
		t.Helper()
		c.say(body)
		if got := string(c.next().Data); !strings.Contains(got, want) {
			t.Errorf("%s is answered %s, want %s", body, got, want)
		}
	}
	expect(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"id":1,"error"`)
	expect(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	const modern = `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	expect(`{"jsonrpc":"2.0","id":1,"method":"server/discover",`+modern,
		`"id":1,"error":{"code":-32600`)
	expect(`{"jsonrpc":"2.0","id":1,"method":"initialize",`+modern, `"id":1,"error":{"code":-32600`)
	if status, text := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); status <
		400 || !strings.Contains(text, "initializ") {
		t.Errorf("a notification before initialize is answered %d %s", status, text)
	}
	host.openErr = protocol.Overloaded("tenant", 0)
	expect(initializeBody(protocol.V20250326), `"id":0,"error"`)
	host.openErr = nil
	c.begin(protocol.V20250326)
	expect(`{"jsonrpc":"2.0","id":2,"method":"full"}`, `"id":2,"error"`)
	c.say(`{"jsonrpc":"2.0","id":3,"method":"hold"}`)
	expect(`{"jsonrpc":"2.0","id":3,"method":"echo"}`, `in flight`)
	close(hold)
	waitFor(t, func() bool {
		c.say(`{"jsonrpc":"2.0","id":3,"method":"echo"}`)
		return !strings.Contains(string(c.next().Data), "in flight")
	})
	c.say(`[{"jsonrpc":"2.0","id":4,"method":"echo"},{"jsonrpc":"2.0","id":5}]`)
	if both := string(c.next().Data) +
		string(c.next().Data); !strings.Contains(both, `"id":4,"result"`) ||
		!strings.Contains(both, `"error"`) {
		t.Errorf("an array is answered %s", both)
	}
}

// patient is a clock on which initializeTime passes when the test decides.
type patient struct {
	clock.Clock
	greetings chan<- func()
}

func (p patient) AfterFunc(d time.Duration, f func()) clock.Timer {
	if d == initializeTime {
		p.greetings <- f
	}
	return p.Clock.AfterFunc(d, f)
}

// A stream lives as long as its client: it is kept alive, has no maximum age, and ends if its
// client does not begin or when the host stops.
func TestChannelEnds(t *testing.T) {
	host := newTestHost(t)
	greetings := make(chan func(), 2)
	host.store = NewStore(StoreOptions{Clock: patient{clock.System, greetings}})
	s := serve(t, host, Options{KeepAlive: 10 * time.Millisecond, StreamAge: time.Millisecond})
	c := s.stream(t.Context(), "ann").begin(protocol.V20251125)
	session := host.last()
	waitFor(t, func() bool {
		session.mu.Lock()
		defer session.mu.Unlock()
		return session.touched > 5
	})
	silent := s.stream(t.Context(), "ann")
	for range 2 { // including that of the client that has begun
		(<-greetings)()
	}
	if rest := silent.rest(); len(rest) != 0 {
		t.Errorf("got %q", rest)
	}
	c.say(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`)
	c.next()
	s.handler.Drain()
	c.rest()
	resp := s.do(s.at(s.request(t.Context(), http.MethodGet, ""), "/t/acme/sse"))
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new stream is answered %d while draining", resp.StatusCode)
	}
}

// After a refused handshake, the client keeps its stream and may try again within the time limit of
// a new client.
func TestChannelIsGreetedAgain(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond} { // before and after Open has returned
		host := newTestHost(t)
		host.late = late
		greetings := make(chan func(), 4)
		host.store = NewStore(StoreOptions{Clock: patient{clock.System, greetings}})
		s := serve(t, host, Options{})
		c := s.stream(t.Context(), "ann")
		refuse := func(n int) {
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{}}`, n))
			if got := string(c.next().Data); !strings.Contains(got, "-32602") {
				t.Fatalf("%s: answered %s", late, got)
			}
			c.say(`{"jsonrpc":"2.0","id":"e","method":"echo","params":{}}`)
			if got := string(c.next().Data); !strings.Contains(got, "-32005") {
				t.Errorf("%s: without a session the answer is %s", late, got)
			}
			all := &s.handler.channels
			all.mu.Lock()
			defer all.mu.Unlock()
			if got := all.unopened[Endpoint{Tenant: "acme", Principal: c.who}]; got != 1 {
				t.Errorf("%s: %d channels are silent, want this", late, got)
			}
		}
		refuse(1)
		refuse(2)
		c.begin(protocol.V20251125)
		c.say(`{"jsonrpc":"2.0","id":"e","method":"echo","params":{}}`)
		if got := string(c.next().Data); !strings.Contains(got, `"result"`) {
			t.Errorf("%s: then %s", late, got)
		}
		for len(greetings) > 0 { // of a client that has begun
			(<-greetings)()
		}
		c.say(`{"jsonrpc":"2.0","id":"e","method":"echo","params":{}}`)
		if got := string(c.next().Data); !strings.Contains(got, `"result"`) {
			t.Errorf("%s: after the time to begin %s", late, got)
		}
		other := s.stream(t.Context(), "bob")
		c = other
		refuse(1)
		for len(greetings) > 0 { // of the stream, and of the refusal
			(<-greetings)()
		}
		if rest := other.rest(); len(rest) != 0 {
			t.Errorf("%s: got %q", late, rest)
		}
	}
}

// The number of clients that open streams without beginning is limited per principal.
func TestSilentChannelsAreBounded(t *testing.T) {
	s := serve(t, newTestHost(t), Options{})
	ctx, leave := context.WithCancel(t.Context())
	for range maxUnopened {
		s.stream(ctx, "ann")
	}
	open := func(who string) int {
		resp := s.do(s.at(s.request(t.Context(), http.MethodGet, "", "Authorization", who),
			"/t/acme/sse"))
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := open("ann"); got != http.StatusTooManyRequests {
		t.Errorf("one more is answered %d", got)
	}
	if got := open("bob"); got != http.StatusOK {
		t.Errorf("another principal is answered %d", got)
	}
	leave()
	waitFor(t, func() bool { return open("ann") == http.StatusOK })
}

// A client that does not read its answers is dropped long before its connection stalls.
func TestChannelThatIsNotRead(t *testing.T) {
	const size = 1 << 20
	var cut atomic.Int64
	host := newTestHost(t)
	host.scripts["large"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(`"`+strings.Repeat("x", size)+`"`)))
	}
	s := serve(t, host, Options{Stall: time.Minute, Stalled: func(tenant string) {
		if tenant == "acme" {
			cut.Add(1)
		}
	}})
	c := s.stream(t.Context(), "ann").begin(protocol.V20251125)
	session := host.last()
	for i := range maxUnreadAnswers/size + 32 { // bytes in transit are not counted
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"large"}`, i))
	}
	waitFor(t, func() bool { return cut.Load() == 1 })
	if err := session.streams.Push(note("notifications/message", 1)); err != transport.ErrClosed {
		t.Errorf("the stream takes more: %v", err)
	}
	c.resp.Body.Close() // otherwise the last write waits for its deadline
	waitFor(t, func() bool { return host.last() == nil })
}

// A host that no longer opens sessions refuses a new channel, and states a retry delay.
func TestNoChannelIsOpenedWhileTheHostCloses(t *testing.T) {
	refused := protocol.Stopping("", false)
	refused.RetryAfter = 2 * time.Second
	s := serve(t, newTestHost(t), Options{Closing: func() *protocol.Error { return refused }})
	resp := s.do(s.at(s.request(t.Context(), http.MethodGet, ""), "/t/acme/sse"))
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "2" ||
		!strings.Contains(string(body), `"reason":"stopping"`) {
		t.Errorf("got %d, Retry-After %q, %s", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	}
}

// Requests over HTTP+SSE carry the address from which they were posted.
func TestRequestsOfAChannelHaveAnAddress(t *testing.T) {
	host := newTestHost(t)
	host.scripts["from"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		from, _ := out.(transport.Addressed)
		if from == nil {
			out.Finish(jsonrpc.Response(m.ID, nil))
			return
		}
		out.Finish(jsonrpc.Response(m.ID, fmt.Appendf(nil, "{%q:0}", from.From())))
	}
	c := serve(t, host, Options{}).stream(t.Context(), "ann").begin(protocol.V20241105)
	c.say(`{"jsonrpc":"2.0","id":"a","method":"from"}`)
	if got := string(c.next().Data); !strings.Contains(got, `"127.0.0.1:`) {
		t.Errorf("a request comes from %s", got)
	}
}
