package streamable

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func call(method string) string { return `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}` }

const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`

// 2025-11-25 §basic/transports: a stream begins with an event that has an id and no data. Older
// clients may fail on such an event.
func TestStreamBeginsAsTheRevisionHasIt(t *testing.T) {
	host := newTestHost(t)
	host.scripts["chatty"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/progress", 1))
		if !out.Finish(jsonrpc.Response(m.ID, nil)) || out.Finish(jsonrpc.Response(m.ID, nil)) {
			t.Error("want one outcome to be taken, and no second one")
		}
		if err := out.Send(note("notifications/progress", 2)); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Send after Finish: %v, want ErrClosed", err)
		}
	}
	s := serve(t, host, Options{Retry: 700 * time.Millisecond})
	for _, v := range []protocol.Version{protocol.V20250326, protocol.V20250618, protocol.V20251125} {
		resp := s.post(call("chatty"), "Mcp-Session-Id", s.session(v))
		events := readStream(t, resp)
		if got := resp.Header.Get("X-Accel-Buffering"); got != "no" {
			t.Errorf("X-Accel-Buffering is %q, want no", got)
		}
		var ids []string
		if v.Has(protocol.PrimedStreams) {
			e := events.next()
			if e.ID == "" || e.Data == nil || len(e.Data) != 0 || e.Retry != 700*time.Millisecond {
				t.Errorf("%v: first event %+v, want an id, empty data and the retry", v, e)
			}
			ids = append(ids, e.ID)
		}
		for _, want := range []string{line(note("notifications/progress", 1)), answer} {
			e := events.next()
			if string(e.Data) != want || e.ID == "" {
				t.Errorf("%v: got %s (id %q), want %s with an id", v, e.Data, e.ID, want)
			}
			ids = append(ids, e.ID)
		}
		if rest := events.rest(); len(rest) != 0 {
			t.Errorf("%v: %q after the outcome, want the end", v, rest)
		}
		for i := range ids[1:] {
			if ids[i] == ids[i+1] {
				t.Errorf("%v: ids %q are not unique", v, ids)
			}
		}
	}
}

// A silent call becomes a stream after the keep-alive period. The stream then sends keep-alive
// comments.
func TestSilentCallBecomesAStream(t *testing.T) {
	host := newTestHost(t)
	release := make(chan struct{})
	host.scripts["slow"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		<-release
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s := serve(t, host, Options{KeepAlive: 5 * time.Millisecond})
	resp := s.post(call("slow"), "Mcp-Session-Id", s.session(protocol.V20251125))
	comments := make([]byte, 0, 4096)
	for strings.Count(string(comments), string(keepAlive)) < 2 {
		n, err := resp.Body.Read(comments[len(comments):cap(comments)])
		if comments = comments[:len(comments)+n]; err != nil {
			t.Fatalf("%v after %q", err, comments)
		}
	}
	if !strings.HasPrefix(string(comments), "id: ") {
		t.Errorf("got %q, want the priming event first", comments)
	}
	close(release)
	if rest := readStream(t, resp).rest(); len(rest) != 1 || rest[0] != answer {
		t.Errorf("got %q, want the answer", rest)
	}
	host.mu.Lock()
	session := host.sessions["session-1"]
	host.mu.Unlock()
	session.mu.Lock()
	defer session.mu.Unlock()
	if session.touched < 2 {
		t.Errorf("the session was touched %d times, want once with the request and once a period",
			session.touched)
	}
}

// A session that is refused late has no id: a slow answer does not turn initialize into a stream.
func TestLateRefusalTellsNoSession(t *testing.T) {
	host := newTestHost(t)
	host.late = 100 * time.Millisecond
	s := serve(t, host, Options{KeepAlive: 5 * time.Millisecond})
	resp := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if id, kind := resp.Header.Get("Mcp-Session-Id"), resp.Header.Get("Content-Type"); id != "" ||
		kind != jsonType {
		t.Errorf("session %q, told as %s", id, kind)
	}
}

// The sink of a request reports if its client still reads the stream, including a client that has
// reconnected to it.
func TestSinkSaysWhetherItsClientHasLeft(t *testing.T) {
	host := newTestHost(t)
	sinks := make(chan transport.Sink, 1)
	host.scripts["long"] = func(_ *testSession, _ jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		sinks <- out
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	ctx, disconnect := context.WithCancel(t.Context())
	first := readStream(t, s.do(s.request(ctx, http.MethodPost, call("long"), "Mcp-Session-Id", id)))
	first.next()
	one := first.next()
	out := <-sinks
	becomes := func(want bool) {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); out.(interface{ Left() bool }).Left() !=
			want; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("left is %t", !want)
			}
		}
	}
	becomes(false)
	disconnect()
	becomes(true)
	second := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID", one.ID))
	second.next()
	becomes(false)
	out.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	second.rest()
}

// A disconnect is not a cancellation: the exchange continues, and its client gets the rest of this
// stream, and of no other, by GET.
func TestStreamIsResumedAfterADisconnect(t *testing.T) {
	host := newTestHost(t)
	proceed := make(chan struct{})
	host.scripts["long"] = func(s *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		<-proceed
		for n := range 3 {
			if err := out.Send(note("notifications/message", n+2)); err != nil {
				t.Error(err)
			}
			s.streams.Push(note("notifications/elsewhere", n))
		}
		<-proceed
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	ctx, disconnect := context.WithCancel(t.Context())
	first := readStream(t, s.do(s.request(ctx, http.MethodPost, call("long"), "Mcp-Session-Id", id)))
	primed, one := first.next(), first.next()
	disconnect()
	proceed <- struct{}{}

	second := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID", one.ID))
	if e := second.next(); len(e.Data) != 0 || e.ID != one.ID {
		t.Errorf("got %q (%s), want to be primed with the place that was asked for", e.Data, e.ID)
	}
	for n := range 3 {
		if e := second.next(); string(e.Data) != line(note("notifications/message", n+2)) {
			t.Errorf("got %s, want message %d", e.Data, n+2)
		}
	}
	proceed <- struct{}{}
	if rest := second.rest(); len(rest) != 1 || rest[0] != answer {
		t.Errorf("got %q, want the answer and the end", rest)
	}
	// Events that were written may not have been received: they can be requested again.
	if all := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID",
		primed.ID)).rest(); len(all) != 5 || all[4] != answer {
		t.Errorf("got %q, want all of the stream again", all)
	}
}

// S44: an id of another session, or an unknown one, resumes nothing. Streams are resumed by GET
// only.
func TestForeignEventIDsAreRefused(t *testing.T) {
	host := newTestHost(t)
	host.scripts["chatty"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s := serve(t, host, Options{})
	mine, other := s.session(protocol.V20251125), s.session(protocol.V20251125)
	own := readStream(t, s.post(call("chatty"), "Mcp-Session-Id", mine)).next().ID
	foreign := readStream(t, s.post(call("chatty"), "Mcp-Session-Id", other)).next().ID
	nonce, _, _ := strings.Cut(own, ".")
	for _, id := range []string{
		foreign, "1", "0", "..", nonce, nonce + ".", nonce + ".p", nonce + ".p1", nonce + ".p1.",
		nonce + ".x1.0", nonce + ".p1.9999", nonce + ".p9.0",
		nonce + ".g9.0", nonce + ".g1.0", nonce + ".p1.-1", strings.Repeat("x", 8000),
		nonce + ".p1.zzzzzzzzzzzzzzzzzzzz",
		nonce + ".a1.zzzzzzzzzzzzzzzzzzzz", strings.Replace(foreign, ".p", ".a", 1),
		strings.Repeat("0", len(nonce)) + ".a1.2",
	} {
		resp := s.get("Mcp-Session-Id", mine, "Last-Event-ID", id)
		if body := content(t, resp); resp.StatusCode != 400 ||
			!strings.Contains(body, `"reason":"event_id"`) {
			t.Errorf("%.40q: got %d %s, want 400", id, resp.StatusCode, body)
		}
	}
	if resp := s.post(call("echo"), "Mcp-Session-Id", mine, "Last-Event-ID",
		own); resp.StatusCode != 400 {
		t.Errorf("POST with an event id: got %d, want 400", resp.StatusCode)
	}
}

// 2025-11-25: the server closes the stream in the middle of a call, and stores the rest for the
// client's reconnect.
func TestExchangeClosesItsStream(t *testing.T) {
	host := newTestHost(t)
	proceed := make(chan struct{})
	host.scripts["reconnect"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.(Reconnector).CloseStream(50 * time.Millisecond)
		<-proceed
		out.Send(note("notifications/message", 1))
		out.Finish(jsonrpc.Response(m.ID, nil))
		out.(Reconnector).CloseStream(time.Hour)
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	first := readStream(t, s.post(call("reconnect"), "Mcp-Session-Id", id))
	primed := first.next()
	if len(primed.Data) != 0 || primed.ID == "" || primed.Retry != 50*time.Millisecond {
		t.Errorf("first event %+v, want an id and the retry", primed)
	}
	if rest := first.rest(); len(rest) != 0 {
		t.Errorf("got %q, want the end", rest)
	}
	second := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID", primed.ID))
	close(proceed)
	if rest := second.rest(); len(rest) != 2 || rest[1] != answer {
		t.Errorf("got %q, want the message and the answer", rest)
	}

	resp := s.post(call("reconnect"), "Mcp-Session-Id", s.session(protocol.V20250618))
	if rest := readStream(t, resp).rest(); len(rest) != 2 || rest[1] != answer {
		t.Errorf("2025-06-18: got %q, want the call to go on in the same stream", rest)
	}
}

// Messages that are pushed without a listener wait for the first GET. With several GETs, one gets
// each message, and another takes over when it ends.
func TestStandingStream(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	streams := host.sessions[id].streams
	push := func(m jsonrpc.Message) {
		t.Helper()
		if err := streams.Push(m); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		push(jsonrpc.Notification("notifications/tools/list_changed", nil))
	}
	push(note("notifications/message", 1))
	want := func(e *events, m jsonrpc.Message) Event {
		t.Helper()
		got := e.next()
		if string(got.Data) != line(m) {
			t.Errorf("got %s, want %s", got.Data, line(m))
		}
		return got
	}
	older := readStream(t, s.get("Mcp-Session-Id", id))
	older.next() // priming
	want(older, jsonrpc.Notification("notifications/tools/list_changed", nil))
	last := want(older, note("notifications/message", 1))

	ctx, disconnect := context.WithCancel(t.Context())
	newer := readStream(t, s.do(s.request(ctx, http.MethodGet, "", "Mcp-Session-Id", id)))
	newer.next()
	push(note("notifications/message", 2))
	of2 := want(newer, note("notifications/message", 2))
	disconnect()
	waitFor(t, func() bool {
		streams.mu.Lock()
		defer streams.mu.Unlock()
		return streams.state.gets == 1
	})
	push(note("notifications/message", 3))
	want(older, note("notifications/message", 3))

	// When resumed, each stream gives only the events that were sent on it.
	again := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID", of2.ID))
	again.next()
	push(note("notifications/message", 4))
	want(again, note("notifications/message", 4))
	back := readStream(t, s.get("Mcp-Session-Id", id, "Last-Event-ID", last.ID))
	back.next()
	want(back, note("notifications/message", 3))
	if rest := older.rest(); len(rest) != 0 {
		t.Errorf("the connection that was replaced got %q, want its end", rest)
	}
	s.do(s.request(t.Context(), http.MethodDelete, "", "Mcp-Session-Id", id))
	if rest := back.rest(); len(rest) != 0 {
		t.Errorf("got %q after DELETE, want the end", rest)
	}
}

// waitFor waits for an effect of another goroutine.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("did not happen")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestGETRefusals(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"no session", nil, 400},
		{"accepts JSON only", []string{"Mcp-Session-Id", id, "Accept", "application/json"}, 406},
		{"other version", []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-03-26"}, 400},
	} {
		if resp := s.get(c.header...); resp.StatusCode != c.status {
			t.Errorf("%s: got %d, want %d", c.name, resp.StatusCode, c.status)
		}
	}
	if resp := s.do(s.request(t.Context(), http.MethodGet, "body", "Mcp-Session-Id",
		id)); resp.StatusCode != 400 {
		t.Errorf("with a body: got %d, want 400", resp.StatusCode)
	}
	for range DefaultGETs {
		readStream(t, s.get("Mcp-Session-Id", id))
	}
	resp := s.get("Mcp-Session-Id", id)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("one more than %d: got %d, want 429 with Retry-After", DefaultGETs, resp.StatusCode)
	}
}

// An answer longer than any queue reaches a client that reads, as JSON and as an event.
func TestLargeAnswers(t *testing.T) {
	host := newTestHost(t)
	large := jsontext.Value(`{"data":"` + strings.Repeat("x", 3<<20) + `"}`)
	host.scripts["json"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Finish(jsonrpc.Response(m.ID, large))
	}
	host.scripts["event"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		out.Finish(jsonrpc.Response(m.ID, large))
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	want := line(jsonrpc.Response(jsonrpc.IntID(1), large))
	if got := content(t, s.post(call("json"), "Mcp-Session-Id", id)); got != want {
		t.Errorf("JSON: got %d bytes, want %d", len(got), len(want))
	}
	if rest := readStream(t, s.post(call("event"), "Mcp-Session-Id", id)).rest(); len(rest) != 2 ||
		rest[1] != want {
		t.Errorf("event: got %d events, want the message and the answer", len(rest))
	}
}

// Over HTTP/2, a passed deadline would reset a stream that is merely idle.
func TestIdleStreamOverHTTP2(t *testing.T) {
	host := newTestHost(t)
	release := make(chan struct{})
	host.scripts["slow"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		<-release
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	h := NewHandler(Options{
		Host: host, Store: host.store, Stall: 5 * time.Millisecond, KeepAlive: 50 * time.Millisecond,
	})
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	s := &testServer{Server: server, t: t, handler: h, host: host}
	t.Cleanup(func() {
		h.Drain()
		s.Client().CloseIdleConnections()
		s.Close()
	})
	id := s.session(protocol.V20251125)
	get := s.get("Mcp-Session-Id", id)
	calling := s.post(call("slow"), "Mcp-Session-Id", id)
	if get.ProtoMajor != 2 || calling.ProtoMajor != 2 {
		t.Fatalf("got HTTP/%d and HTTP/%d, want 2", get.ProtoMajor, calling.ProtoMajor)
	}
	for seen, buf := "", make([]byte, 512); strings.Count(seen, string(keepAlive)) < 2; {
		n, err := get.Body.Read(buf)
		if seen += string(buf[:n]); err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
	}
	close(release)
	if rest := readStream(t, calling).rest(); len(rest) != 2 || rest[1] != answer {
		t.Errorf("got %q, want the message and the answer", rest)
	}
}
