package streamable

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// An idle session with an open GET stream must take little memory beyond that of net/http for the
// connection.
func TestIdleStreamIsSmall(t *testing.T) {
	const n, most, idle = 2000, 2 << 10, 200
	store := NewStore(StoreOptions{})
	kept := make([]struct {
		streams *Streams
		writer  *responseWriter
		timer   clock.Timer
	}, n)
	measure := func(each func(i int)) int {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			each(i)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return (int(after.HeapAlloc) - int(before.HeapAlloc)) / n
	}
	if got := measure(func(i int) {
		kept[i].streams = store.Streams("acme", "a session")
	}); got > idle {
		t.Errorf("an idle session takes %d bytes, want at most %d", got, idle)
	}
	got := measure(func(i int) {
		k := &kept[i]
		o := makeStreamResponse()
		if err := k.streams.connect(&o, "", protocol.V20251125); err != nil {
			t.Fatal(err)
		}
		k.writer = &responseWriter{streams: k.streams, streamed: &o}
		k.timer = clock.System.AfterFunc(time.Hour, o.tick)
	})
	if got > most {
		t.Errorf("an open GET takes %d bytes, want at most %d", got, most)
	}
	t.Logf("an open GET takes %d bytes", got)
	for _, k := range kept {
		k.timer.Stop()
		k.streams.Close()
	}
}

// BenchmarkReply measures the cost of this package for a request that is answered as JSON, without
// net/http.
func BenchmarkReply(b *testing.B) {
	s := NewStore(StoreOptions{}).Streams("acme", "a session")
	m := jsonrpc.Response(jsonrpc.IntID(1), []byte(`{"content":[]}`))
	b.ReportAllocs()
	for b.Loop() {
		r := newReply(s, 1, true)
		r.Finish(m)
		if r.decide(false) != asJSON {
			b.Fatal("not JSON")
		}
		r.leave()
	}
}

// BenchmarkEvent measures the cost of one event from Send to the written bytes.
func BenchmarkEvent(b *testing.B) {
	s := NewStore(StoreOptions{}).Streams("acme", "a session")
	defer s.Close()
	o := makeStreamResponse()
	st, err := s.begin(&o)
	if err != nil {
		b.Fatal(err)
	}
	w := newRecorder()
	e := responseWriter{
		handler: NewHandler(Options{}), response: w, control: http.NewResponseController(w), streams: s,
		streamed: &o,
	}
	m := note("notifications/message", 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.send(st, m); err != nil {
			b.Fatal(err)
		}
		if _, err := e.writePending(); err == nil {
			b.Fatal("a recorder cannot flush")
		}
	}
}

// BenchmarkPost measures a whole request over a loopback socket, with the client of net/http.
func BenchmarkPost(b *testing.B) {
	host := &testHost{store: NewStore(StoreOptions{}), sessions: make(map[string]*testSession)}
	host.scripts = map[string]func(*testSession, jsonrpc.Message, transport.Sink){
		"echo": func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
			out.Finish(jsonrpc.Response(m.ID, m.Params))
		},
	}
	s := httptest.NewServer(NewHandler(Options{Host: host, Store: host.store}))
	defer s.Close()
	id := host.add(Endpoint{Tenant: "acme"}, protocol.V20251125, nil).id
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequest(http.MethodPost, s.URL, strings.NewReader(call("echo")))
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Session-Id": {id},
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	host.running.Wait()
}
