package streamable

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// script is a server that answers each request of a connection with the next of some texts, and
// closes the connection when there is none.
func script(t *testing.T, answers ...string) (url string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int32)
	ended := make(chan struct{})
	serve := func(conn net.Conn) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		for _, answer := range answers {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	}
	go func() { // owner: the cleanup
		var all sync.WaitGroup
		defer close(ended)
		defer all.Wait()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			all.Go(func() { serve(conn) })
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return "http://" + l.Addr().String() + "/mcp", connections
}

func newWired(t *testing.T) *Transport {
	w := NewTransport(nil)
	if w.std.Proxy != nil {
		t.Error("the transport takes a proxy from the environment")
	}
	t.Cleanup(w.CloseIdleConnections)
	return w
}

func post(t *testing.T, ctx context.Context, w *Transport,
	url, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return w.RoundTrip(r)
}

const okay = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

// A connection that the server has closed in the meantime is replaced without an error: each
// connection here serves one request.
func TestWireReplacesWhatTheServerHasClosed(t *testing.T) {
	url, connections := script(t, okay)
	w := newWired(t)
	for n := range int32(3) {
		resp, err := post(t, t.Context(), w, url, "{}")
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "{}" || err != nil {
			t.Fatalf("got %q, %v", body, err)
		}
		// The end of the stream has to arrive first.
		for w.idle[strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")][0].isIdle() {
			time.Sleep(time.Millisecond)
		}
		if got := connections.Load(); got != n+1 {
			t.Fatalf("%d connections after %d requests", got, n+1)
		}
	}
}

func TestWireReadsTheResponseThatCounts(t *testing.T) {
	interim := "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	for _, tt := range []struct{ name, answer, body, err string }{
		{"after interim ones", interim + interim + okay, "{}", ""},
		{
			"in chunks",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "{}", "",
		},
		{"to the end of the connection", "HTTP/1.1 200 OK\r\n\r\n{}", "{}", ""},
		{"without a body", "HTTP/1.1 202 Accepted\r\n\r\n", "", ""},
		{"behind too many interim ones", strings.Repeat(interim, maxInterim) + okay, "",
			"too many interim"},
		{"of another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "", "protocol"},
		{"with a head without end", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", responseHeaderBytes),
			"", "too large"},
		{"that is none", "220 mail.example ESMTP\r\n\r\n", "", "malformed"},
		{"that breaks off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "", "unexpected EOF"},
	} {
		url, _ := script(t, tt.answer)
		w := newWired(t)
		resp, err := post(t, t.Context(), w, url, "{}")
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		switch {
		case tt.err == "" && (err != nil || string(body) != tt.body):
			t.Errorf("%s: got %q, %v", tt.name, body, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.err)
		}
	}
}

// A connection is reused if its response was read to the end, and only then.
func TestWireIsUsedAgainWhenItIsFree(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		read         bool
		want         int32
	}{
		{"read", okay, true, 1},
		{"not read", okay, false, 2},
		{"said to be the last", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
			true, 2},
		{"more than was asked", okay + okay, true, 2},
	} {
		url, connections := script(t, tt.answer, tt.answer)
		w := newWired(t)
		for range 2 {
			resp, err := post(t, t.Context(), w, url, "{}")
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if tt.read {
				_, _ = io.ReadAll(resp.Body) // another test checks the content
			}
			resp.Body.Close()
		}
		if got := connections.Load(); got != tt.want {
			t.Errorf("%s: %d connections, want %d", tt.name, got, tt.want)
		}
	}
}

// A cancelled context ends the wait for the head and for the body, and closes the connection.
func TestWireEndsWithItsContext(t *testing.T) {
	for name, answer := range map[string]string{"head": "",
		"body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"} {
		url, _ := script(t, answer, okay)
		w := newWired(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		resp, err := post(t, ctx, w, url, "{}")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		if len(w.idle) > 0 {
			t.Errorf("%s: its connection is kept", name)
		}
	}
}

// A value that would end its field is not sent, and not repeated in the error: it may be a secret.
func TestWireSendsNoFieldWithinAField(t *testing.T) {
	url, _ := script(t, okay)
	w := newWired(t)
	for _, header := range []http.Header{{"X": {"geheim\r\nY: z"}}, {"X\r\nY": {"geheim"}},
		{"X": {"geheim\x00"}}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		if _, err := w.RoundTrip(r); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: got %v", header, err)
		}
	}
}

// A connection that was idle for long is closed. One that was used recently is kept.
func TestWireThatIsIdleIsClosed(t *testing.T) {
	url, _ := script(t, okay, okay)
	w := newWired(t)
	resp, err := post(t, t.Context(), w, url, "{}")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(resp.Body) // the connection is free with its end
	w.expire()
	if len(w.idle) != 1 {
		t.Error("one that was used a moment ago is closed")
	}
	for _, kept := range w.idle {
		kept[0].since = kept[0].since.Add(-idleKept)
	}
	w.expire()
	if len(w.idle) != 0 || w.expiry != nil {
		t.Errorf("%d are kept, and somebody looks after them: %v", len(w.idle), w.expiry != nil)
	}
}
