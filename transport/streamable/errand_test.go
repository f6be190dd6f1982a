package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// lending is a host whose sessions pass every call on to one server over HTTP, as an errand of the
// goroutine that waits for its answer.
type lending struct {
	*testServer
	client *Client
	hold   chan struct{} // closed when the server may continue
	asked  chan struct{} // holds a token for each call that the server delays
	heard  sync.WaitGroup

	mu    sync.Mutex
	outs  map[jsonrpc.ID]transport.Sink
	last  transport.Sink
	where []string // how each answer was delivered to its client
	lost  int      // calls that have failed
	said  string   // the routing fields of the last call
}

func newLending(t *testing.T, o Options) *lending {
	l := &lending{
		hold: make(chan struct{}), asked: make(chan struct{}, 16), outs: map[jsonrpc.ID]transport.Sink{},
	}
	up := httptest.NewServer(http.HandlerFunc(l.answer))
	t.Cleanup(up.Close)
	client, err := NewClient(ClientOptions{URL: up.URL})
	if err != nil {
		t.Fatal(err)
	}
	l.client = client
	client.Answers(func(in transport.Inbound) bool {
		way := "goroutine"
		if strings.Contains(string(debug.Stack()), "(*reply).run(") {
			way = "errand"
		}
		return l.finish(in, way)
	})
	l.heard.Go(func() {
		for {
			in, err := client.Recv(context.Background())
			if err != nil {
				return
			}
			l.finish(in, "reader")
		}
	})
	host := newTestHost(t)
	host.scripts["call"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		l.mu.Lock()
		l.outs[m.ID], l.last = out, out
		l.mu.Unlock()
		if err := client.SendBy(context.Background(), m, out.(transport.Lender)); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		l.release()
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
		l.heard.Wait()
	})
	l.testServer = serve(t, host, o)
	return l
}

func (l *lending) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.hold:
	default:
		close(l.hold)
	}
}

func (l *lending) finish(in transport.Inbound, way string) bool {
	l.mu.Lock()
	out := l.outs[in.RequestID]
	delete(l.outs, in.RequestID)
	if in.Err != nil {
		l.lost++
	} else {
		l.where = append(l.where, way)
	}
	l.mu.Unlock()
	if out == nil {
		return false
	}
	if in.Err != nil {
		return out.Finish(jsonrpc.Failure(in.RequestID, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams, Message: "failed",
		}))
	}
	return out.Finish(in.Message)
}

// answer is the handler of the server.
func (l *lending) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
	if err != nil {
		return
	}
	l.mu.Lock()
	l.said = strings.Join(slices.Concat(r.Header["Mcp-Method"], r.Header["Mcp-Protocol-Version"]), " ")
	l.mu.Unlock()
	text := jsonrpc.Response(m.ID, []byte(`{"text":"hello"}`)).Append(nil)
	w.Header().Set("Content-Type", "application/json")
	wait := func() {
		l.asked <- struct{}{}
		<-l.hold
	}
	switch string(m.Params) {
	case `{"how":"held"}`:
		wait()
	case `{"how":"half"}`:
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write(text[:9])
		_ = http.NewResponseController(w).Flush()
		wait()
		text = text[9:]
	case `{"how":"large"}`:
		text = jsonrpc.Response(m.ID, []byte(`"`+strings.Repeat("x", 9000)+`"`)).Append(nil)
	case `{"how":"cut"}`:
		panic(http.ErrAbortHandler)
	case `{"how":"stream"}`:
		w.Header().Set("Content-Type", streamType)
		text = []byte("data: " + string(text) + "\n\n")
	}
	_, _ = w.Write(text)
}

// carried waits until the server delays a call, and returns the sink of its errand.
func (l *lending) carried() *reply {
	l.t.Helper()
	out := l.held()
	if !out.out.lent.Load() {
		l.t.Fatal("the call is not carried by who waits for it")
	}
	return out
}

// held waits until the server delays a call, and returns its sink.
func (l *lending) held() *reply {
	<-l.asked
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.(*reply)
}

// call makes one call over the idle connection of the test's client, and returns the answer.
func (l *lending) call(session, how string) string {
	l.t.Helper()
	return content(l.t, l.post(l.body(how), "Mcp-Session-Id", session))
}

func (l *lending) body(how string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"call","params":{"how":"` + how + `"}}`
}

func (l *lending) ways() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.where, " ")
}

// The goroutine that waits for an answer reads it from the server, once there is an idle
// connection. An answer in pieces, or a stream, is read by its own goroutine.
func TestWaiterCarriesItsRequest(t *testing.T) {
	l := newLending(t, Options{})
	session := l.session(protocol.V20251125)
	for _, c := range []struct{ how, way string }{
		{"plain", "goroutine"}, // there is no connection yet
		{"plain", "errand"},
		{"large", "goroutine"},
		{"plain", "errand"},
		{"stream", "reader"}, // the callback does not get messages of a stream
		{"plain", "errand"},
	} {
		before := len(l.ways())
		if got := l.call(session, c.how); !strings.Contains(got, `"id":1,"result":`) {
			t.Fatalf("%s is answered with %q", c.how, got)
		}
		if got := strings.TrimSpace(l.ways()[before:]); got != c.way {
			t.Errorf("the answer to %s was given by the %s, want the %s", c.how, got, c.way)
		}
	}
	if got := l.call(session, "cut"); !strings.Contains(got, "failed") {
		t.Errorf("a call whose connection breaks is answered with %q", got)
	}
}

// A request with header fields of its own is carried in the same way, with these fields.
func TestWaiterCarriesModernRequest(t *testing.T) {
	l := newLending(t, Options{})
	l.client.Negotiated(protocol.V20260728)
	session := l.session(protocol.V20251125)
	l.call(session, "plain")
	l.call(session, "plain")
	if got := l.ways(); got != "goroutine errand" {
		t.Errorf("the answers were given by %s", got)
	}
	if got := l.said; got != "call 2026-07-28" {
		t.Errorf("the server was sent %q", got)
	}
	if got := l.call(session, "stream"); !strings.Contains(got, "hello") {
		t.Errorf("a stream is answered with %q", got)
	}
}

// An errand is recalled when its goroutine has other work. The call continues and loses nothing.
func TestErrandIsRecalled(t *testing.T) {
	for _, how := range []string{"held", "half"} {
		for name, happens := range map[string]func(out transport.Sink){
			"progress": func(out transport.Sink) {
				if err := out.Send(note("notifications/progress", 1)); err != nil {
					t.Error(err)
				}
			},
			"silence": func(transport.Sink) {},
		} {
			t.Run(how+" "+name, func(t *testing.T) {
				l := newLending(t, Options{KeepAlive: 50 * time.Millisecond})
				session := l.session(protocol.V20251125)
				l.call(session, "plain")
				answered := make(chan *http.Response)
				go func() { answered <- l.post(l.body(how), "Mcp-Session-Id", session) }()
				happens(l.held())                   // half of the answer was read, so the errand has ended
				stream := readStream(t, <-answered) // before the server has answered
				l.release()
				if all := strings.Join(stream.rest(), " "); !strings.Contains(all,
					`"id":1,"result":{"text":"hello"}`) {
					t.Errorf("the stream has %s", all)
				}
			})
		}
	}
}

// An outcome ends the client's wait at once, even while an errand carries its request. The answer
// of the server is dropped when it arrives.
func TestOutcomeOvertakesTheErrand(t *testing.T) {
	l := newLending(t, Options{})
	session := l.session(protocol.V20251125)
	l.call(session, "plain")
	answered := make(chan string)
	go func() { answered <- l.call(session, "held") }()
	if out := l.carried(); !out.Finish(jsonrpc.Failure(jsonrpc.IntID(1),
		&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "too late"})) {
		t.Error("the outcome was not taken")
	}
	if got := <-answered; !strings.Contains(got, "too late") {
		t.Errorf("answered with %q", got)
	}
	l.release()
	if got := l.call(session, "plain"); !strings.Contains(got, "hello") {
		t.Errorf("the next call is answered with %q", got)
	}
}

// A disconnect of the client is noticed while its goroutine carries the request, and also before
// that.
func TestErrandEndsWithItsClient(t *testing.T) {
	l := newLending(t, Options{})
	session := l.session(protocol.V20251125)
	for range 20 {
		l.call(session, "plain") // leaves an idle connection
		ctx, leave := context.WithCancel(t.Context())
		req := l.request(ctx, http.MethodPost, l.body("held"), "Mcp-Session-Id", session)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if resp, err := l.Client().Do(req); err == nil {
				resp.Body.Close()
				t.Error("answered")
			}
		}()
		out := l.carried()
		leave()
		<-gone
		for until := time.Now().Add(10 * time.Second); !out.Left(); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("the host has not noticed for 10 s")
			}
		}
	}
}

// The errand ends with the connection to the server, and with the cancellation of its request.
func TestErrandEndsWithItsServer(t *testing.T) {
	l := newLending(t, Options{})
	session := l.session(protocol.V20251125)
	l.call(session, "plain")
	answered := make(chan string)
	go func() { answered <- l.call(session, "held") }()
	out := l.carried()
	if err := l.client.Send(t.Context(),
		jsonrpc.Notification("notifications/cancelled", []byte(`{"requestId":1}`))); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-answered:
		t.Errorf("a call that was taken back is answered with %q", got)
	case <-time.After(50 * time.Millisecond):
	}
	out.Finish(jsonrpc.Failure(jsonrpc.IntID(1), &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: "cancelled",
	}))
	if got := <-answered; !strings.Contains(got, "cancelled") {
		t.Errorf("answered with %q", got)
	}
	l.release()
	l.call(session, "plain")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := l.client.Close(ctx); err != nil {
		t.Errorf("the client does not close: %v", err)
	}
}
