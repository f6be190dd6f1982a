package streamable

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// pricedHost has one session, whose requests are answered from another goroutine, as by the reader
// of a server connection. It allocates nothing itself, so the cost of a call is that of this
// package.
type pricedHost struct {
	store *Store
	ep    Endpoint
	one   *testSession
	asked chan transport.Sink
	value jsonrpc.Message

	session Session // of one
}

func newPricedHost(t testing.TB) *pricedHost {
	h := &pricedHost{
		store: NewStore(StoreOptions{}), ep: Endpoint{Tenant: "acme"}, asked: make(chan transport.Sink),
		value: jsonrpc.Response(jsonrpc.IntID(1), []byte(`{"content":[{"type":"text","text":"hello"}]}`)),
	}
	h.one = &testSession{
		ep: h.ep, id: "session-1", version: protocol.V20251125,
		streams: h.store.Streams("acme", "session-1"),
	}
	h.session = pricedSession{h.one, h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for out := range h.asked {
			out.Finish(h.value)
		}
	}()
	t.Cleanup(func() {
		close(h.asked)
		<-done
		h.one.streams.Close()
	})
	return h
}

func (h *pricedHost) Route(*http.Request) (Endpoint, RouteKind, *protocol.Error) {
	return h.ep, Streamable, nil
}

func (h *pricedHost) Settings() uint64 { return 1 }

func (h *pricedHost) Enter(*http.Request, Endpoint) *protocol.Error { return nil }

func (h *pricedHost) Open(context.Context, Endpoint, jsonrpc.Message, transport.Sink,
	*Streams) (Session, error) {
	return nil, ErrNoSession
}

func (h *pricedHost) Lookup(context.Context, Endpoint, string) (Session, error) {
	return h.session, nil
}

func (h *pricedHost) Policy(Endpoint) protocol.Negotiation { return protocol.Negotiation{} }

func (h *pricedHost) Peer(context.Context, Endpoint, protocol.Class) (Peer, error) {
	return nil, ErrNoSession
}

type pricedSession struct {
	*testSession
	host *pricedHost
}

func (s pricedSession) Deliver(_ context.Context, _ jsonrpc.Message, out transport.Sink) error {
	s.host.asked <- out
	return nil
}

// caller is a client with one connection. It repeats the same request and allocates nothing.
type caller struct {
	conn    net.Conn
	request []byte
	answer  []byte // the buffer
	length  int    // of each answer after the first
}

const pricedBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`

func keep(t testing.TB, server *http.Server, connections *Connections) *caller {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	if connections != nil {
		go func() { served <- server.Serve(connections.Listener(l)) }()
	} else {
		go func() { served <- server.Serve(l) }()
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Close()
		<-served
	})
	k := &caller{conn: conn, answer: make([]byte, 4<<10),
		request: []byte("POST /t/acme/mcp HTTP/1.1\r\nHost: " + l.Addr().String() +
			"\r\nUser-Agent: client/1\r\nAccept: application/json, text/event-stream\r\nContent-Type: " +
			"application/json\r\n" +
			"Mcp-Session-Id: session-1\r\nMcp-Protocol-Version: 2025-11-25\r\nAuthorization: Bearer " +
			"mcpd_0123456789\r\n" +
			"Content-Length: " + strconv.Itoa(len(pricedBody)) + "\r\n\r\n" + pricedBody)}
	text := k.call(t)
	k.call(t) // its head is now cached
	if !strings.HasPrefix(text, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(text, "}") {
		t.Fatalf("got %q", text)
	}
	return k
}

// call makes one request. Its answer arrives in one piece.
func (k *caller) call(t testing.TB) string {
	if _, err := k.conn.Write(k.request); err != nil {
		t.Fatal(err)
	}
	n, err := k.conn.Read(k.answer)
	if err != nil || k.length > 0 && n != k.length {
		t.Fatalf("%d bytes, want %d: %v", n, k.length, err)
	}
	if k.length == 0 {
		k.length = n
		return string(k.answer[:n])
	}
	return ""
}

// bareServer is the minimum that net/http needs to read such a request and to answer it.
func bareServer(t testing.TB) *http.Server {
	body := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`)
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.Header()["Content-Type"] = jsonHeader
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})}
}

// edgeServer contains everything that a call passes before its session.
func edgeServer(t testing.TB) (*http.Server, *Connections) {
	host := newPricedHost(t)
	connections := &Connections{}
	return NewHTTPServer(ServerOptions{
		Handler: NewHandler(Options{Host: host, Store: host.store}), Connections: connections,
	}), connections
}

// price returns the number of objects and bytes that a function allocates, in any goroutine. It
// takes the minimum of several rounds, because net/http allocates an error for each read that it
// has to interrupt, which does not happen in every call.
func price(of func()) (objects, bytes uint64) {
	const rounds, runs = 8, 200
	for round := range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			of()
		}
		runtime.ReadMemStats(&after)
		o, b := (after.Mallocs-before.Mallocs)/runs, (after.TotalAlloc-before.TotalAlloc)/runs
		if round == 0 || o < objects {
			objects = o
		}
		if round == 0 || b < bytes {
			bytes = b
		}
	}
	return objects, bytes
}

// A call over an idle connection takes few objects and bytes beyond those of net/http: its body,
// and the wait for its answer. The bare server also allocates objects, because net/http looks for
// the end of the body and sets a header field there.
func TestPriceOfACall(t *testing.T) {
	if mcptest.RaceEnabled {
		t.Skip("the race detector has pools drop what they hold")
	}
	const most, mostBytes = 0, 520
	of := func(k *caller) (objects, bytes uint64) { return price(func() { k.call(t) }) }
	bare, bareBytes := of(keep(t, bareServer(t), nil))
	server, connections := edgeServer(t)
	if got, bytes := of(keep(t, server, connections)); got > bare+most || bytes > bareBytes+mostBytes {
		t.Errorf("a call takes %d objects and %d bytes where net/http alone takes %d and %d, want at "+
			"most %d and %d more",
			got, bytes, bare, bareBytes, most, mostBytes)
	}
}

// BenchmarkKept measures a call over an idle connection, without a server behind it. The case bare
// is net/http alone.
func BenchmarkKept(b *testing.B) {
	b.Run("bare", func(b *testing.B) { keep(b, bareServer(b), nil).benchmark(b) })
	b.Run("edge", func(b *testing.B) {
		server, connections := edgeServer(b)
		keep(b, server, connections).benchmark(b)
	})
}

func (k *caller) benchmark(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		k.call(b)
	}
}
