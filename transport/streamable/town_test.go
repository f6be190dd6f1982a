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

func (h halves) part() int64 { return int64(h) / 4 }

func (h halves) Free() int64 { return int64(h) - 2*h.part() }

func (h halves) Excess(held int64) int64 { return max(0, held-h.part()) }

func (h halves) Admits(held, n, excess int64) bool {
	more := h.Excess(held+n) - h.Excess(held)
	return more <= 0 || excess+more <= h.Free()
}

// townServer is a server whose clients state their tenant in their credential.
type townServer struct {
	*testServer
	url string
}

func startTown(t *testing.T, connections *Connections) *townServer {
	t.Helper()
	return startTownOn(t, connections, func(l net.Listener) net.Listener { return l })
}

// startTownOn is like startTown with a listener of another kind.
func startTownOn(t *testing.T, connections *Connections,
	on func(net.Listener) net.Listener) *townServer {
	t.Helper()
	host := newTestHost(t)
	host.route = func(r *http.Request) (Endpoint, *protocol.Error) {
		name := r.Header.Get("Authorization")
		if name == "" {
			return Endpoint{}, protocol.Unauthenticated()
		}
		if full := Claim(r, name, 0); full != "" {
			return Endpoint{}, &protocol.Error{
				Condition: protocol.ConditionOverloaded, Message: full, RetryAfter: time.Second,
			}
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
	address := startOn(t, ServerOptions{Handler: h, Drain: []func(){h.Drain},
		Connections: connections}, func(*http.Server) {}, on)
	return &townServer{
		&testServer{t: t, handler: h, host: host, connections: connections},
		"http://" + address + "/t/acme/mcp",
	}
}

// ask sends a request of a tenant over its own connection, which stays open.
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

// open opens a session of a tenant and closes its connection.
func (s *townServer) open(tenant string) string {
	s.t.Helper()
	resp := s.ask(tenant, http.MethodPost, initializeBody(protocol.V20251125), "Connection", "close")
	if text := content(s.t, resp); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("initialize of %s: %d %s", tenant, resp.StatusCode, text)
	}
	return resp.Header.Get("Mcp-Session-Id")
}

// streaming counts the connections of tenants on which a stream waits.
func (c *Connections) streaming() (n int) {
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
	h := &heldCalls{s, make(chan struct{}), sync.OnceFunc(func() {
		close(goOn)
	}), make(chan string, 100), 0}
	s.host.scripts["wait"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		h.begun <- struct{}{}
		<-goOn
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s.t.Cleanup(h.end)
	return h
}

// add starts a call, and returns when it runs.
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

// answered ends all calls, and expects a result for each.
func (h *heldCalls) answered() {
	h.t.Helper()
	h.end()
	for range h.n {
		if got := <-h.answers; !strings.Contains(got, "result") {
			h.t.Errorf("a running call: %s", got)
		}
	}
}
