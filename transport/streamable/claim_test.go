package streamable

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// halves divides as quota.Shares does for two tenants.
type halves int64

func (h halves) part() int64             { return int64(h) / 4 }
func (h halves) Free() int64             { return int64(h) - 2*h.part() }
func (h halves) Excess(held int64) int64 { return max(0, held-h.part()) }
func (h halves) Admits(held, n, excess int64) bool {
	more := h.Excess(held+n) - h.Excess(held)
	return more <= 0 || excess+more <= h.Free()
}

// town is a server whose clients say by their credential which tenant they are of.
type townServer struct {
	*testServer
	url string
}

func startTown(t *testing.T, connections *Connections) *townServer {
	t.Helper()
	return startTownOn(t, connections, func(l net.Listener) net.Listener { return l })
}

// startTownOn is startTown with a listener of another kind.
func startTownOn(t *testing.T, connections *Connections, on func(net.Listener) net.Listener) *townServer {
	t.Helper()
	host := newTestHost(t)
	host.route = func(r *http.Request) (Endpoint, *protocol.Error) {
		name := r.Header.Get("Authorization")
		if name == "" {
			return Endpoint{}, protocol.Unauthenticated()
		}
		if full := Claim(r, name, 0); full != "" {
			return Endpoint{}, &protocol.Error{Condition: protocol.ConditionOverloaded, Message: full, RetryAfter: time.Second}
		}
		if name == "paused" {
			return Endpoint{}, protocol.TenantDown(name, "paused", "", time.Second)
		}
		return Endpoint{Tenant: name}, nil
	}
	connections.Divide = func(total int64) Division { return halves(total) }
	connections.Group = func(a netip.Addr) (netip.Prefix, bool) { // 127.0.0.9 is a trusted proxy
		p, err := a.Unmap().Prefix(32)
		return p, err == nil && a.Unmap() != netip.MustParseAddr("127.0.0.9")
	}
	h := NewHandler(Options{Host: host, Store: host.store})
	t.Cleanup(h.Drain)
	address := startOn(t, ServerOptions{Handler: h, Drain: []func(){h.Drain}, Connections: connections}, func(*http.Server) {}, on)
	return &townServer{&testServer{t: t, handler: h, host: host, connections: connections}, "http://" + address + "/t/acme/mcp"}
}

// ask sends a request of a tenant over a connection of its own, which stays.
func (s *townServer) ask(tenant, method, body string, header ...string) *http.Response {
	s.t.Helper()
	carrier := &http.Transport{}
	s.t.Cleanup(carrier.CloseIdleConnections)
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", tenant)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: carrier, Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		s.t.Fatalf("%s of %s: %v", method, tenant, err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// open is a new session of a tenant, whose connection is closed again.
func (s *townServer) open(tenant string) string {
	s.t.Helper()
	resp := s.ask(tenant, http.MethodPost, initializeBody(protocol.V20251125), "Connection", "close")
	if text := content(s.t, resp); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("initialize of %s: %d %s", tenant, resp.StatusCode, text)
	}
	return resp.Header.Get("Mcp-Session-Id")
}

// A tenant that holds all connections there are with streams that wait costs others nothing: each
// has its share, the oldest of its own streams end for its new ones, with a hint when to come
// back, and its running call goes on. What is full and whose it is, is told.
func TestConnectionsAreSharedOut(t *testing.T) {
	const most = 64 // of which 56 are for tenants: 14 for each of two, and 28 for who comes
	s := startTown(t, &Connections{Max: most})
	running := s.holdCalls()
	running.add("acme")

	var streams []*http.Response
	for range most + 20 {
		id := s.open("acme")
		resp := s.ask("acme", http.MethodGet, "", "Mcp-Session-Id", id, "Accept", streamType)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %d %s", len(streams), resp.StatusCode, content(t, resp))
		}
		streams = append(streams, resp)
	}
	text, err := io.ReadAll(streams[0].Body) // the oldest
	if err != nil || !strings.Contains(string(text), "retry: ") {
		t.Errorf("the oldest stream ended with %q, %v", text, err)
	}
	if why := s.connections.Pressure(); !strings.Contains(why, "tenant acme has 42 of the 56") {
		t.Errorf("what is told is %q", why)
	}
	waitFor(t, func() bool { return s.connections.Open() <= 43 }) // and perhaps one that is about to end

	for i := range 14 {
		resp := s.ask("initech", http.MethodPost, initializeBody(protocol.V20251125))
		if text := content(t, resp); resp.StatusCode != http.StatusOK {
			t.Errorf("connection %d of the other tenant: %d %s", i, resp.StatusCode, text)
		}
	}
	running.answered()
}

// Clients of a tenant that does not run keep their connections: a new one for each request would
// cost the host more than the answer.
func TestClientsOfAPausedTenantKeepTheirConnections(t *testing.T) {
	s := startTown(t, &Connections{Max: 64})
	resp := s.ask("paused", http.MethodPost, initializeBody(protocol.V20251125))
	if text := content(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Close {
		t.Errorf("%d (close %v) %s", resp.StatusCode, resp.Close, text)
	}
}

// An idle channel of HTTP+SSE makes room as an idle GET stream does. One with a request in flight
// does not, and its answer comes.
func TestIdleChannelsMakeRoom(t *testing.T) {
	const most = 16 // of which 14 are for tenants: 3 for each of two, and 8 for who comes
	s := startTown(t, &Connections{Max: most})
	held := make(chan func(), 1)
	s.host.scripts["wait"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		held <- func() { out.Finish(jsonrpc.Response(m.ID, nil)) }
	}
	at := strings.TrimSuffix(s.url, "/mcp") + "/sse"
	post := func(to, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(at, "/t/acme/sse")+to, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "acme")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if text := content(t, resp); resp.StatusCode != http.StatusAccepted {
			t.Fatalf("%s: %d %s", body, resp.StatusCode, text)
		}
	}
	s.url = at
	var streams []*events
	var addresses []string
	for range 8 {
		e := readStream(t, s.ask("acme", http.MethodGet, "", "Accept", streamType))
		to := "/t/acme/sse" + string(e.next().Data)
		post(to, initializeBody(protocol.V20241105))
		e.next()
		streams, addresses = append(streams, e), append(addresses, to)
	}
	post(addresses[0], call("wait"))
	for range 10 {
		readStream(t, s.ask("acme", http.MethodGet, "", "Accept", streamType)).next()
	}
	for _, e := range streams[1:3] {
		if more := e.rest(); len(more) > 0 {
			t.Errorf("an idle channel got %s before its end", more)
		}
	}
	(<-held)()
	if got := string(streams[0].next().Data); !strings.Contains(got, "result") {
		t.Errorf("the channel with a request in flight got %s", got)
	}
	if why := s.connections.Pressure(); !strings.Contains(why, "tenant acme has") {
		t.Errorf("what is told is %q", why)
	}
}

// waiting counts the connections of tenants on which a stream waits.
func (c *Connections) waiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.tenants {
		for conn := range h.conns {
			conn.mu.Lock()
			if len(conn.streams) > 0 {
				n++
			}
			conn.mu.Unlock()
		}
	}
	return n
}

// A new connection for which there is none left is accepted all the same: it is not known yet whose
// it is, and the longest idle stream of who is above its share ends for it.
func TestNewConnectionFindsRoom(t *testing.T) {
	s := startTown(t, &Connections{Max: 1000})
	var streams []*http.Response
	for n := range 20 {
		id := s.open("acme")
		streams = append(streams, s.ask("acme", http.MethodGet, "", "Mcp-Session-Id", id, "Accept", streamType))
		waitFor(t, func() bool { return s.connections.waiting() == n+1 }) // each is idle before the next
	}
	waitFor(t, func() bool { return s.connections.Open() == 20 })
	s.connections.shortAt.Store(time.Now().UnixNano()) // as when files run out
	s.connections.limit.Store(20)
	if resp := s.ask("initech", http.MethodPost, initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("a new connection: %d %s", resp.StatusCode, content(t, resp))
	}
	if text, err := io.ReadAll(streams[0].Body); err != nil || !strings.Contains(string(text), "retry: ") {
		t.Errorf("the oldest stream ended with %q, %v", text, err)
	}
}

// Where nothing waits, who asks for more is refused, and no running call ends.
func TestRunningCallsKeepTheirConnections(t *testing.T) {
	s := startTown(t, &Connections{Max: 16}) // 14 for tenants: 3 for each of two, and 8 for who comes
	running := s.holdCalls()
	for range 11 {
		running.add("acme")
	}
	for range 5 {
		resp := s.ask("acme", http.MethodPost, initializeBody(protocol.V20251125))
		text := content(t, resp)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" ||
			!strings.Contains(text, "tenant acme has all the connections") || !strings.Contains(text, "11 of the host's 14") {
			t.Errorf("one too many: %d %s", resp.StatusCode, text)
		}
	}
	if resp := s.ask("initech", http.MethodPost, initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("the other tenant: %d %s", resp.StatusCode, content(t, resp))
	}
	running.answered()
}

// heldCalls are calls that are answered at the end of the test.
type heldCalls struct {
	*townServer
	begun   chan struct{}
	end     func()
	answers chan string
	n       int
}

func (s *townServer) holdCalls() *heldCalls {
	goOn := make(chan struct{})
	h := &heldCalls{s, make(chan struct{}), sync.OnceFunc(func() { close(goOn) }), make(chan string, 100), 0}
	s.host.scripts["wait"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		h.begun <- struct{}{}
		<-goOn
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s.t.Cleanup(h.end)
	return h
}

// add begins a call, and returns when it runs.
func (h *heldCalls) add(tenant string) {
	h.t.Helper()
	id := h.open(tenant)
	waitFor(h.t, func() bool { return waiting(h.connections) == 0 })
	h.n++
	go func() {
		req, _ := http.NewRequest(http.MethodPost, h.url, strings.NewReader(call("wait")))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", tenant)
		req.Header.Set("Mcp-Session-Id", id)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			h.answers <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		h.answers <- string(text)
	}()
	select {
	case <-h.begun:
	case got := <-h.answers:
		h.t.Fatalf("call %d of %s: %s", h.n, tenant, got)
	}
}

// answered ends all, and expects that each has its result.
func (h *heldCalls) answered() {
	h.t.Helper()
	h.end()
	for range h.n {
		if got := <-h.answers; !strings.Contains(got, "result") {
			h.t.Errorf("a running call: %s", got)
		}
	}
}

// A process runs out of files before there are as many connections as there may be: streams of the
// tenant that has most of them end, and the other tenant comes in.
func TestFilesAreSharedOut(t *testing.T) {
	const files = 16
	s := startTownOn(t, &Connections{Max: 1000, Files: 1000}, func(l net.Listener) net.Listener {
		return &scarce{l.(*net.TCPListener), make(chan struct{}, files)}
	})
	var streams []*http.Response
	for range files + 8 {
		id := s.open("acme")
		resp := s.ask("acme", http.MethodGet, "", "Mcp-Session-Id", id, "Accept", streamType)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %d %s", len(streams), resp.StatusCode, content(t, resp))
		}
		streams = append(streams, resp)
	}
	if text, err := io.ReadAll(streams[0].Body); err != nil || !strings.Contains(string(text), "retry: ") {
		t.Errorf("the oldest stream ended with %q, %v", text, err)
	}
	if resp := s.ask("initech", http.MethodPost, initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("the other tenant: %d %s", resp.StatusCode, content(t, resp))
	}
	if why := s.connections.Pressure(); !strings.Contains(why, "tenant acme has") {
		t.Errorf("what is told is %q", why)
	}
}

// Connections that never authenticate take no room of those that do, whatever they sent.
func TestUnknownConnectionsMakeRoomForOthers(t *testing.T) {
	s := startTown(t, &Connections{Max: 16})
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/t/acme/mcp")
	for i := range 64 {
		conn := connect(t, address)
		if i%2 == 0 {
			asks(conn) // 401, or what comes of it
		}
	}
	for range 11 {
		if resp := s.ask("acme", http.MethodPost, initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
			t.Errorf("a tenant: %d %s", resp.StatusCode, content(t, resp))
		}
	}
}

// hoard opens connections that send half a head of so many bytes, and returns those in the order
// in which they came.
func hoard(t *testing.T, address, from string, n, bytes int, settled func() bool) (all []net.Conn) {
	t.Helper()
	for range n {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", bytes)) // it may be closed already
		all = append(all, conn)
		waitFor(t, settled)
	}
	return all
}

// ended reports whether a connection was closed.
func ended(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	op, ok := err.(net.Error)
	return err != nil && (!ok || !op.Timeout())
}

func bytesOfUnknown(c *Connections) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unknown.bytes
}

// Half heads of many addresses take no more than they may: the oldest of all end. Who has
// authenticated, and a trusted proxy, is not touched.
func TestUnknownConnectionsAreBounded(t *testing.T) {
	const bound = 256 << 10
	connections := &Connections{Unknown: bound}
	s := startTown(t, connections)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/t/acme/mcp")
	proxy := hoard(t, address, "127.0.0.9", 40, 8000, func() bool { return true })
	known := connect(t, address)
	io.WriteString(known, "GET /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: acme\r\n\r\n")
	if _, err := known.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	io.WriteString(known, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 8000))
	var all []net.Conn
	for i := range 40 {
		from := netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}).String()
		all = append(all, hoard(t, address, from, 1, 8000, func() bool { return bytesOfUnknown(connections) <= bound })...)
	}
	if !ended(all[0]) || !ended(all[10]) || ended(all[39]) {
		t.Error("not the oldest have ended")
	}
	if ended(known) || ended(proxy[0]) {
		t.Error("who has authenticated has ended, or a trusted proxy")
	}
	if why := connections.Pressure(); !strings.Contains(why, "without an authenticated request") || !strings.Contains(why, "127.0.1.") {
		t.Errorf("what is told is %q", why)
	}
	all = append(all, known)
	for _, conn := range append(all, proxy...) {
		conn.Close()
	}
	waitFor(t, func() bool { return connections.Open() == 0 })
	if n := bytesOfUnknown(connections); n != 0 || len(connections.unknown.from) != 0 || len(connections.tenants) != 0 {
		t.Errorf("%d bytes, %d addresses and %d tenants stay", n, len(connections.unknown.from), len(connections.tenants))
	}
}

// Half heads of one address end for others of that address, and for nobody else's.
func TestUnknownConnectionsOfAnAddressAreBounded(t *testing.T) {
	const bound = 128 << 10
	connections := &Connections{UnknownOf: bound}
	s := startTown(t, connections)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/t/acme/mcp")
	other := hoard(t, address, "127.0.0.2", 2, 8000, func() bool { return true })
	all := hoard(t, address, "127.0.0.1", 20, 8000, func() bool { return bytesOfUnknown(connections) <= 3*bound })
	waitFor(t, func() bool { return bytesOfUnknown(connections) <= 2*bound })
	if !ended(all[0]) || ended(all[19]) || ended(other[0]) || ended(other[1]) {
		t.Error("not the oldest of that address have ended")
	}
	// One that comes from there and has a key is served.
	if resp := s.ask("acme", http.MethodPost, initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("a tenant from that address: %d %s", resp.StatusCode, content(t, resp))
	}
}
