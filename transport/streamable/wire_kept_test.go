package streamable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
)

// A body that broke off or was closed gives an error on later reads, and never looks complete.
func TestWireBodyThatIsNotWholeStaysSo(t *testing.T) {
	url, _ := script(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")
	w := newWired(t)
	resp, err := post(t, t.Context(), w, url, "{}")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("broken off: got %v", err)
		}
	}
	if resp, err = post(t, t.Context(), w, url, "{}"); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("closed: got %v", err)
	}
}

// A request that cannot be sent does not cost a connection.
func TestWireOutlivesWhatCannotBeSent(t *testing.T) {
	url, connections := script(t, okay, okay)
	w := newWired(t)
	for n := range 2 {
		resp, err := post(t, t.Context(), w, url, "{}")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body) // the connection is free with its end
		for _, body := range []io.ReadCloser{io.NopCloser(strings.NewReader("{")),
			io.NopCloser(strings.NewReader("{}"))} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
			if err != nil {
				t.Fatal(err)
			}
			if r.ContentLength = 2; n == 0 {
				r.Header["X"] = []string{"\n"}
			} else if _, err := io.CopyN(io.Discard, body, 1); err != nil {
				t.Fatal(err)
			}
			if resp, err := w.RoundTrip(r); err == nil {
				resp.Body.Close()
				t.Error("sent")
			}
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// A connection whose state cannot be tested is not reused.
func TestWireKeepsNoConnectionThatItCannotLookAt(t *testing.T) {
	url, _ := script(t, okay)
	w := NewTransport(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return struct{ net.Conn }{conn}, err
	})
	t.Cleanup(w.CloseIdleConnections)
	for range 3 {
		resp, err := post(t, t.Context(), w, url, "{}")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body) // to its end, after which it would otherwise be reused
	}
}

// I2: if a connection has delivered the answer to another request, later answers may be out of step
// too. The connection is not used again.
func TestWireThatIsOutOfStepIsLeft(t *testing.T) {
	answer := func(body string) string {
		return fmt.Sprintf(
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body),
			body,
		)
	}
	const late = `{"jsonrpc":"2.0","id":"late","result":{}}`
	for name, first := range map[string]string{
		"an answer":      answer(late),
		"no answer":      "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"another's type": strings.Replace(answer(late), "application/json", "text/html", 1),
		"a stream": fmt.Sprintf(
			"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\ndata: %s\n\n",
			len(late)+8, late,
		),
		"a failure": strings.Replace(
			answer(`{"jsonrpc":"2.0","id":"late","error":{"code":1,"message":"m"}}`), "200 OK", "400 X", 1,
		),
	} {
		url, connections := script(t, first, answer(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		w := newWired(t)
		c, err := NewClient(ClientOptions{URL: url, Transport: w})
		if err != nil {
			t.Fatal(err)
		}
		for n := range int32(3) {
			if err := c.Send(t.Context(), jsonrpc.Request(jsonrpc.IntID(1), "ping", nil)); err != nil {
				t.Fatal(err)
			}
			for failed := false; !failed; {
				in, err := c.Recv(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if failed = in.Err != nil; in.Message.ID == jsonrpc.IntID(1) {
					t.Fatalf("%s: request %d was answered with %v", name, n, in.Message)
				}
			}
			takeAll(t.Context(), c.posts)
			if got := connections.Load(); got != n+1 {
				t.Errorf("%s: %d connections after %d requests", name, got, n+1)
			}
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A server closes idle connections after a moment, while 64 callers send requests. Each caller gets
// its own answer or an error, no request is executed twice, and no connection is left.
func TestWireUnderServersThatCloseAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.Map
	var open atomic.Int32
	serve := func(conn net.Conn) {
		defer open.Add(-1)
		defer conn.Close()
		for in := bufio.NewReader(conn); ; {
			// This fails on closed connections, whose read fails too.
			_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := in.Peek(1); err != nil {
				return
			}
			_ = conn.SetReadDeadline(time.Time{}) // likewise
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if _, twice := done.LoadOrStore(string(body), true); twice {
				t.Errorf("%s was done twice", body)
			}
			if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body),
				body); err != nil {
				return
			}
		}
	}
	var servers sync.WaitGroup
	servers.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Add(1)
			servers.Go(func() { serve(conn) })
		}
	})
	w := newWired(t)
	var callers sync.WaitGroup
	var answered atomic.Int32
	for caller := range 64 {
		callers.Go(func() {
			for n := range 20 {
				text := fmt.Sprintf("%d/%d", caller, n)
				ctx, cancel := context.WithCancel(t.Context())
				if n%5 == 4 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				resp, err := post(t, ctx, w, "http://"+l.Addr().String(), text)
				if err == nil {
					var body []byte
					if body, err = io.ReadAll(resp.Body); err == nil && string(body) != text {
						t.Errorf("%s got %s", text, body)
					}
					resp.Body.Close()
				}
				if cancel(); err == nil {
					answered.Add(1)
				}
			}
		})
	}
	callers.Wait()
	if answered.Load() == 0 {
		t.Error("nobody was answered")
	}
	w.CloseIdleConnections()
	l.Close()
	servers.Wait()
	if n := open.Load(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}
