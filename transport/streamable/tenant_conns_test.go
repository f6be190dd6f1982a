package streamable

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A tenant whose idle streams hold all connections does not affect other tenants. Each tenant gets
// its share. The oldest idle streams of the large tenant end for its new ones, with a retry hint,
// and its running call continues. Pressure reports the shortage and the tenant.
func TestConnectionsAreSharedOut(t *testing.T) {
	const most = 64 // of which 56 are for tenants: 14 for each of two, and 28 for newcomers
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
	if reason := s.connections.Pressure(); !strings.Contains(reason, "tenant acme has 42 of the 56") {
		t.Errorf("what is told is %q", reason)
	}
	// Perhaps one connection is about to end.
	waitFor(t, func() bool { return s.connections.Open() <= 43 })

	for i := range 14 {
		resp := s.ask("initech", http.MethodPost, initializeBody(protocol.V20251125))
		if text := content(t, resp); resp.StatusCode != http.StatusOK {
			t.Errorf("connection %d of the other tenant: %d %s", i, resp.StatusCode, text)
		}
	}
	running.answered()
}

// Clients of a paused tenant keep their connections: a new connection for each request would cost
// the host more than the answer.
func TestClientsOfAPausedTenantKeepTheirConnections(t *testing.T) {
	s := startTown(t, &Connections{Max: 64})
	resp := s.ask("paused", http.MethodPost, initializeBody(protocol.V20251125))
	if text := content(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Close {
		t.Errorf("%d (close %v) %s", resp.StatusCode, resp.Close, text)
	}
}

// An idle channel of HTTP+SSE is closed to make room, like an idle GET stream. A channel with a
// request in flight is not closed, and its answer arrives.
func TestIdleChannelsMakeRoom(t *testing.T) {
	const most = 16 // of which 14 are for tenants: 3 for each of two, and 8 for newcomers
	s := startTown(t, &Connections{Max: most})
	held := make(chan func(), 1)
	s.host.scripts["wait"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		held <- func() { out.Finish(jsonrpc.Response(m.ID, nil)) }
	}
	at := strings.TrimSuffix(s.url, "/mcp") + "/sse"
	post := func(to, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			strings.TrimSuffix(at, "/t/acme/sse")+to, strings.NewReader(body))
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
	if reason := s.connections.Pressure(); !strings.Contains(reason, "tenant acme has") {
		t.Errorf("what is told is %q", reason)
	}
}

// A new connection beyond the limit is accepted nevertheless, since its tenant is not yet known.
// The longest idle stream of the tenant above its share ends for it.
func TestNewConnectionFindsRoom(t *testing.T) {
	s := startTown(t, &Connections{Max: 1000})
	var streams []*http.Response
	for n := range 20 {
		id := s.open("acme")
		streams = append(streams,
			s.ask("acme", http.MethodGet, "", "Mcp-Session-Id", id, "Accept", streamType))
		// Each stream is idle before the next one opens.
		waitFor(t, func() bool { return s.connections.streaming() == n+1 })
	}
	waitFor(t, func() bool { return s.connections.Open() == 20 })
	s.connections.shortAt.Store(time.Now().UnixNano()) // as when descriptors run out
	s.connections.limit.Store(20)
	if resp := s.ask("initech", http.MethodPost,
		initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("a new connection: %d %s", resp.StatusCode, content(t, resp))
	}
	if text, err := io.ReadAll(streams[0].Body); err != nil ||
		!strings.Contains(string(text), "retry: ") {
		t.Errorf("the oldest stream ended with %q, %v", text, err)
	}
}

// If no connection is idle, a new request is refused, and no running call ends.
func TestRunningCallsKeepTheirConnections(t *testing.T) {
	s := startTown(t, &Connections{Max: 16}) // 14 for tenants: 3 for each of two, and 8 for newcomers
	running := s.holdCalls()
	for range 11 {
		running.add("acme")
	}
	for range 5 {
		resp := s.ask("acme", http.MethodPost, initializeBody(protocol.V20251125))
		text := content(t, resp)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" ||
			!strings.Contains(text, "tenant acme has all the connections") ||
			!strings.Contains(text, "11 of the host's 14") {
			t.Errorf("one too many: %d %s", resp.StatusCode, text)
		}
	}
	if resp := s.ask("initech", http.MethodPost,
		initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("the other tenant: %d %s", resp.StatusCode, content(t, resp))
	}
	running.answered()
}

// A process runs out of descriptors before it reaches its maximum number of connections. Streams of
// the tenant with most connections end, and the other tenant can connect.
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
	if text, err := io.ReadAll(streams[0].Body); err != nil ||
		!strings.Contains(string(text), "retry: ") {
		t.Errorf("the oldest stream ended with %q, %v", text, err)
	}
	if resp := s.ask("initech", http.MethodPost,
		initializeBody(protocol.V20251125)); resp.StatusCode != http.StatusOK {
		t.Errorf("the other tenant: %d %s", resp.StatusCode, content(t, resp))
	}
	if reason := s.connections.Pressure(); !strings.Contains(reason, "tenant acme has") {
		t.Errorf("what is told is %q", reason)
	}
}
