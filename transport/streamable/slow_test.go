package streamable

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// flooded serves a host whose "flood" sends n notifications of the given size as fast as it can,
// and then answers.
func flooded(t *testing.T, n, size int, o Options) *testServer {
	t.Helper()
	return floodedWith(t, n, size, o, func(int) {})
}

// floodedWith is like flooded, and calls done with the number of each message sent.
func floodedWith(t *testing.T, n, size int, o Options, done func(i int)) *testServer {
	t.Helper()
	host := newTestHost(t)
	filler := strings.Repeat("x", size)
	host.scripts["flood"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		for i := range n {
			params := jsontext.Value(fmt.Sprintf(`{"data":%d,"filler":"%s"}`, i, filler))
			if err := out.Send(jsonrpc.Notification("notifications/message", params)); err != nil {
				t.Errorf("message %d: %v, want it to be taken", i, err)
				break
			}
			done(i)
		}
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	return serve(t, host, o)
}

// If a tool logs faster than a connection accepts, its client loses some of the log, which is
// counted, but neither stream nor answer.
func TestBurstReachesAClientThatReads(t *testing.T) {
	const n = 5000
	for _, c := range []struct {
		name  string
		pause time.Duration // of the client, at intervals
	}{{"at once", 0}, {"slowly", 2 * time.Millisecond}} {
		t.Run(c.name, func(t *testing.T) {
			var dropped atomic.Int64
			cut := func(string) { t.Error("cut, want the stream to go on") }
			s := flooded(t, n, 1000, Options{Dropped: func(tenant string, n int) {
				if dropped.Add(int64(n)); tenant != "acme" {
					t.Errorf("dropped of tenant %q", tenant)
				}
			}, Stalled: cut})
			events := readStream(t, s.post(call("flood"), "Mcp-Session-Id", s.session(protocol.V20251125)))
			events.next() // priming
			seen, last := 0, -1
			for {
				e := events.next()
				if string(e.Data) == answer {
					break
				}
				var i int
				if _, err := fmt.Sscanf(string(e.Data),
					`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d,`,
					&i); err != nil || i <= last {
					t.Fatalf("got %.90s after message %d (%v), want a later one", e.Data, last, err)
				}
				last = i
				if seen++; seen%32 == 0 {
					time.Sleep(c.pause)
				}
			}
			if last != n-1 {
				t.Errorf("the last message is %d, want %d: the oldest go first", last, n-1)
			}
			waitFor(t, func() bool { return seen+int(dropped.Load()) == n })
		})
	}
}

// A burst of as many notifications as one call may log within a moment loses none.
func TestSmallBurstIsWhole(t *testing.T) {
	s := flooded(t, 1000, 10, Options{})
	if rest := readStream(t, s.post(call("flood"), "Mcp-Session-Id",
		s.session(protocol.V20250618))).rest(); len(rest) != 1001 {
		t.Errorf("got %d events, want a thousand and the answer", len(rest))
	}
}

// S16: a client that does not read is disconnected after the stall time. It takes no more memory
// than the limits of a stream, disturbs no other client, and gets its answer when it reconnects.
func TestClientThatDoesNotReadIsCut(t *testing.T) {
	const stall = 300 * time.Millisecond
	const messages = 20_000
	cut, over := make(chan string, 1), make(chan struct{})
	s := floodedWith(t, messages, 1000, Options{Stall: stall, Stalled: func(tenant string) {
		cut <- tenant
	}}, func(i int) {
		if i == messages-1 {
			close(over)
		}
		if i%64 == 0 {
			// Also on one processor, the connection must be filled before the log loses its oldest events.
			runtime.Gosched()
		}
	})
	id, other := s.session(protocol.V20251125), s.session(protocol.V20251125)
	listening := readStream(t, s.get("Mcp-Session-Id", other))
	listening.next()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprint(conn, strings.ReplaceAll(withBody(postHead+"Host: localhost\nMcp-Session-Id: "+id+"\n",
		call("flood")), "\n", "\r\n"))
	start := time.Now()
	if got := <-cut; got != "acme" {
		t.Errorf("cut a client of %q, want acme", got)
	}
	if after := time.Since(start); after < stall {
		t.Errorf("cut after %v, want not before %v without progress", after, stall)
	}
	if got := s.host.store.Bytes(); got > 2*DefaultStreamBytes {
		t.Errorf("%d bytes are kept, want at most the bounds of a stream", got)
	}
	s.host.sessions[other].streams.Push(note("notifications/message", 1))
	if e := listening.next(); string(e.Data) != line(note("notifications/message", 1)) {
		t.Errorf("the other session got %s, want its message", e.Data)
	}
	// The bytes that the connection still holds begin with the id of the priming event.
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	primed, err := NewReader(io.LimitReader(resp.Body, 4<<10), ReaderLimits{}).Next()
	if err != nil {
		t.Fatal(err)
	}
	<-over // the reconnect must not compete with the flood for a single processor
	rest := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID", primed.ID)).rest()
	if len(rest) == 0 || rest[len(rest)-1] != answer {
		t.Errorf("got %d events on the return, want them to end with the answer", len(rest))
	}
	conn.Close()
}
