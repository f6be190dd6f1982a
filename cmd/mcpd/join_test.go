package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor"
)

// When a host loses its sessions, the bridge opens a new session and the client does not notice.
// When a host stops, the bridge waits for it.
func TestJoinOutlivesItsHost(t *testing.T) {
	h := &forgetful{session: 1}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
	host.Start()
	inR, in := io.Pipe()
	out, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { // owner: the test, which waits for the result
		ended <- join(t.Context(), inR, outW, io.Discard, host.URL, tenant.Route{Tenant: "default"})
		outW.Close()
	}()
	lines := bufio.NewScanner(out)
	ask := func(id int, method string) {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`+"\n", id, method)
	}
	answered := func(id int) {
		t.Helper()
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":`, id)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("request %d: got %s", id, lines.Text())
		}
	}
	ask(1, "initialize")
	answered(1)
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	ask(2, "tools/call")
	answered(2)
	h.forget()
	ask(3, "tools/call")
	answered(3)
	host.CloseClientConnections()
	host.Close()
	ask(4, "tools/call")
	time.Sleep(50 * time.Millisecond)
	if listener, err = net.Listen("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	host = &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
	host.Start()
	answered(4)
	host.CloseClientConnections()
	host.Close()
	ask(5, "tools/call")
	in.Close()
	if !lines.Scan() || !strings.Contains(lines.Text(), `"id":5,"error":`) ||
		!strings.Contains(lines.Text(), `"maybeExecuted":false,"retryable":true`) {
		t.Errorf("a request that waits when the client leaves: got %s", lines.Text())
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	want := []string{
		" initialize", "2 notifications/initialized", "2 tools/call",
		" initialize", "3 notifications/initialized", "3 tools/call",
		"3 ping", "3 tools/call",
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.got, want) {
		t.Errorf("the hosts got\n%q\nwant\n%q", h.got, want)
	}
}

// forgetful is a host that forgets its session on command.
type forgetful struct {
	mu      sync.Mutex
	session int
	lost    bool
	got     []string
}

func (h *forgetful) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
}

func (h *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || err != nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case h.lost && m.Method != "initialize":
		w.WriteHeader(http.StatusNotFound)
		return
	}
	h.got = append(h.got, r.Header.Get("Mcp-Session-Id")+" "+m.Method)
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		h.session, h.lost = h.session+1, false
		w.Header().Set("Mcp-Session-Id", fmt.Sprint(h.session))
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID.Raw())
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID.Raw())
	}
}

// The commands expect the host at the addresses where a host without configuration listens.
func TestCommandsLookWhereADefaultHostListens(t *testing.T) {
	c, err := config.Default(config.Options{Builtins: supervisor.Builtins})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Listen, []string{strings.TrimPrefix(defaultURL, "http://")}) ||
		c.Admin.Listen != defaultAdmin {
		t.Errorf("it listens on %s and %s, they look at %s and %s", c.Listen, c.Admin.Listen, defaultURL,
			defaultAdmin)
	}
	host := httptest.NewServer(nil)
	there := hostThere(t.Context(), host.URL)
	host.Close()
	if gone := !hostThere(t.Context(), host.URL); !there || !gone {
		t.Errorf("found: %t, not found when it is gone: %t", there, gone)
	}
}
