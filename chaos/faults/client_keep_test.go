package faults

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Half headers have the size that was asked for, are never completed, and are closed when the fault
// is over.
func TestHalfHeadersAreKeptUntilTheFaultIsOver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const clients, bytes = 3, 100
	heads := make(chan string, clients)
	var accepted atomic.Int32
	var conns sync.WaitGroup
	conns.Go(func() { // owner: this test, whose end closes the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			conns.Go(func() {
				defer conn.Close()
				text, _ := io.ReadAll(conn) // until the client leaves
				heads <- string(text)
			})
		}
	})
	s := atClient(clientHoard, "http://"+l.Addr().String()+"/mcp", Values{
		"clients": clients, "after": "header", "bytes": bytes, "every": 3 * time.Millisecond,
	})
	in, err := clientHoard.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "all are connected", func() bool { return accepted.Load() == clients })
	time.Sleep(50 * time.Millisecond)
	if n := len(heads); n > 0 {
		t.Errorf("%d of them have left", n)
	}
	if err := in.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	_ = l.Close()
	conns.Wait()
	if hits, err := in.Hits(t.Context()); hits != clients || err != nil {
		t.Errorf("struck %d times, %v, want %d", hits, err, clients)
	}
	if len(heads) != clients {
		t.Fatalf("%d half headers have come, want %d", len(heads), clients)
	}
	for range clients {
		head := <-heads
		if !strings.HasPrefix(head, "POST /mcp HTTP/1.1\r\n") || strings.Contains(head, "\r\n\r\n") ||
			strings.Count(head, "x") != bytes {
			t.Errorf("the half header is %q", head)
		}
	}
}

// A fault opens no more connections than there are descriptors for, and says so.
func TestConnectionsAreAsManyAsThereAreDescriptorsFor(t *testing.T) {
	for _, c := range []struct {
		clients, remaining, want int
		cut                      bool
	}{
		{18_000, 19_000, 18_000, false},
		{18_000, 18_500, 18_000, false},
		{18_000, 18_499, 17_999, true},
		{18_000, 1024, 524, true},
		{18_000, 100, 1, true},
	} {
		n, text := limitToDescriptors(c.clients, c.remaining)
		if n != c.want || strings.Contains(text, "of 18000: there are no more descriptors") != c.cut {
			t.Errorf("%d of %d: %d%s, want %d", c.clients, c.remaining, n, text, c.want)
		}
	}
	if remaining := descriptorsLeft(); remaining < 10 {
		t.Errorf("%d descriptors are left", remaining)
	}
}

// A host that refuses a client is wrong only where every client has to be served.
func TestClientsThatHaveToBeServed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	for _, served := range []string{"any", "all"} {
		with := Values{"clients": 1, "every": time.Millisecond, "served": served}
		in, err := clientChurn.Inject(t.Context(), atClient(clientChurn, server.URL+"/mcp", with))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		if err := in.Heal(t.Context()); err == nil {
			t.Errorf("served %s: nothing is told of the refusals", served)
		}
		_, err = in.Hits(t.Context())
		if wrong := errors.Is(err, errViolation); wrong != (served == "all") {
			t.Errorf("served %s: %v", served, err)
		}
	}
}

// Clients keep their sessions while the fault lasts, open a session again after a refusal or an
// eviction, and close their sessions when the fault is over.
func TestSessionsAreKeptUntilTheFaultIsOver(t *testing.T) {
	const most = 2 // the host's limit of sessions
	var mu sync.Mutex
	open, opened, refused := map[string]bool{}, 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("Mcp-Session-Id")
		switch {
		case r.Method == http.MethodDelete:
			delete(open, id)
		case strings.Contains(string(body), "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		case !strings.Contains(string(body), `"initialize"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		case len(open) >= most:
			refused++
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			opened++
			id = fmt.Sprint(opened)
			open[id] = true
			w.Header().Set("Mcp-Session-Id", id)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(
				w,
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`,
			)
		}
	}))
	defer server.Close()
	in, err := clientSessions.Inject(t.Context(), atClient(clientSessions, server.URL+"/mcp", Values{
		"clients": 5, "every": 10 * time.Millisecond,
	}))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the bound is reached", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(open) == most && refused >= 5
	})
	if err := in.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if hits, err := in.Hits(t.Context()); hits < most+5 || err != nil {
		t.Errorf("struck %d times, %v", hits, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(open) != 0 || opened != most {
		t.Errorf("%d sessions are left open of %d", len(open), opened)
	}
}
