package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// cuttableNetwork is the network of a client, which can be cut permanently. The client then ends no
// session, like an SDK client that exits.
type cuttableNetwork struct {
	http.Transport
	gone  atomic.Bool
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newCuttableNetwork() *cuttableNetwork {
	v := &cuttableNetwork{}
	v.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			v.mu.Lock()
			v.conns = append(v.conns, conn)
			v.mu.Unlock()
		}
		return conn, err
	}
	return v
}

func (v *cuttableNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	if v.gone.Load() {
		return nil, errors.New("the client is gone")
	}
	return v.Transport.RoundTrip(r)
}

func (v *cuttableNetwork) cut() {
	v.gone.Store(true)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, conn := range v.conns {
		_ = conn.Close()
	}
}

// countingServer is a server that counts its open streams, its subscriptions and the DELETE
// requests.
type countingServer struct {
	*fixture
	http.Handler
	streams, deletes, subscribed atomic.Int64
}

// newCountingServer makes a server whose sessions have state: it counts the calls of each session.
func newCountingServer(name string, stateless bool) *countingServer {
	a := &countingServer{fixture: newFixture(name)}
	var mu sync.Mutex
	counts := map[string]int{}
	a.addTool("count", func(_ context.Context, r *mcp.CallToolRequest, _ arguments) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		counts[r.Session.ID()]++
		return fmt.Sprint(counts[r.Session.ID()]), nil
	})
	a.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			switch method {
			case "resources/subscribe":
				a.subscribed.Add(1)
			case "resources/unsubscribe":
				a.subscribed.Add(-1)
			}
			return next(ctx, method, r)
		}
	})
	a.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return a.Server },
		&mcp.StreamableHTTPOptions{Stateless: stateless})
	return a
}

func (a *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		a.streams.Add(1)
		defer a.streams.Add(-1)
	case http.MethodDelete:
		a.deletes.Add(1)
	}
	a.Handler.ServeHTTP(w, r)
}

// SDK clients that exit without ending their sessions leave nothing open: no stream to a server, no
// subscription and no goroutine. A client that reconnects has its old session with the server's
// state, and gets updates of its resources again.
func TestClientsThatVanishLeaveNothingOpen(t *testing.T) {
	const clients, quiet = 8, 2 * time.Second
	state, free := newCountingServer("state", false), newCountingServer("free", true)
	state.legacyOnly()
	free.legacyOnly()
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"limits: {idle_release: 2s}\ntenants: {default: {servers: {state: {url: %q}, free: {url: %q}, "+
			"kept: {url: %q, idle_release: 0s}}}}\n",
		listen(t, state), listen(t, free), listen(t, newCountingServer("kept", false)))})
	opened := func() int { return int(state.streams.Load() + free.streams.Load()) }
	before := metric(t, host, "go_goroutines")

	var ids []string
	for range clients {
		over := newCuttableNetwork()
		c := connectIn(t, legacy, &mcp.StreamableClientTransport{
			Endpoint: host.MCP + "/mcp", HTTPClient: &http.Client{Transport: over},
		})
		if got := c.call("state__count", nil); got != "1" {
			t.Fatalf("the first call: %s", got)
		}
		c.call("free__echo", map[string]any{"text": "x"})
		c.call("kept__echo", map[string]any{"text": "x"})
		if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: state.uri("watched")}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID())
		defer over.cut()
		if len(ids) < clients {
			over.cut()
		}
	}
	if got := state.subscribed.Load(); got != clients || opened() < clients {
		t.Fatalf("%d subscriptions, %d streams", got, opened())
	}
	// All clients except the last have gone. Two streams remain: that of the last client, and that of
	// the connection that serves its lists.
	eventually(t, "what they left is closed", func() bool {
		return state.subscribed.Load() == 1 && state.streams.Load() == 2
	})
	time.Sleep(2 * quiet)
	if got := state.streams.Load(); got != 2 || state.deletes.Load() != 0 {
		t.Errorf("%d streams, %d sessions of the server ended", got, state.deletes.Load())
	}
	closed := metric(t, host, "mcpd_upstream_closed_total")
	if closed < 2*(clients-1) {
		t.Errorf("%v connections told as closed", closed)
	}
	perClient := (metric(t, host, "go_goroutines") - before) / clients
	t.Logf("%.1f goroutines for each client", perClient)

	w := newWire(t, host.MCP+"/mcp", "")
	w.header.Set("Mcp-Session-Id", ids[0])
	w.header.Set("Mcp-Protocol-Version", legacy)
	r := w.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"state__count"}}`)
	if !strings.Contains(string(r.body), `"text":"2"`) {
		t.Errorf("the client that is back: %d %s", r.status, r.body)
	}
	eventually(t, "it is subscribed again", func() bool { return state.subscribed.Load() == 2 })
}
