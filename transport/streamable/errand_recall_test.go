package streamable

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// recalls is an errand that does nothing. Recall closes the channel.
type recalls chan struct{}

func (e recalls) Recall() { close(e) }
func (e recalls) Run()    {}

// An errand is also recalled by events between Lend and its start.
func TestErrandIsRecalledBeforeItBegins(t *testing.T) {
	for name, happens := range map[string]func(*reply){
		"outcome": func(r *reply) { r.Finish(jsonrpc.Response(jsonrpc.IntID(1), []byte(`{}`))) },
		"progress": func(r *reply) {
			if err := r.Send(note("notifications/progress", 1)); err != nil {
				t.Error(err)
			}
		},
		"silence": func(r *reply) { r.out.tick() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReply(NewStore(StoreOptions{}).plain("acme"), 1, false)
			r.requestID, r.line = jsonrpc.IntID(1), &connection{}
			e := make(recalls)
			if !r.Lend(e) {
				t.Fatal("it was not lent")
			}
			happens(r)
			<-r.out.wake
			r.run()
			select {
			case <-e:
			default:
				t.Error("it was not recalled")
			}
		})
	}
}

// errands is a Lender that stores its errands.
type errands struct {
	transport.Sink
	lent []transport.Errand
}

func (s *errands) Lend(e transport.Errand) bool {
	s.lent = append(s.lent, e)
	return true
}

// Recalling an errand that has returned has no effect, even while its request continues.
func TestErrandIsRecalledAfterItEnded(t *testing.T) {
	asked, hold := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-hold
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}))
	defer up.Close()
	client, err := NewClient(ClientOptions{URL: up.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	by := &errands{}
	if err := client.SendBy(t.Context(), jsonrpc.Request(jsonrpc.IntID(1), "call", nil),
		by); err != nil {
		t.Fatal(err)
	}
	by.lent[0].Run() // there is no idle connection: the request continues in a goroutine
	<-asked
	by.lent[0].Recall() // by a caller that has seen it run
	time.Sleep(20 * time.Millisecond)
	close(hold)
	if in, err := client.Recv(t.Context()); err != nil || in.Err != nil {
		t.Errorf("the request has failed: %v, %v", in.Err, err)
	}
}

// When a client leaves, its errand is passed on while net/http unwinds.
func TestErrandIsPassedOnInAPanic(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}))
	defer up.Close()
	client, err := NewClient(ClientOptions{URL: up.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	by := &errands{}
	if err := client.SendBy(t.Context(), jsonrpc.Request(jsonrpc.IntID(1), "call", nil),
		by); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		defer func() { by.lent[0].Recall(); by.lent[0].Run() }()
		panic(http.ErrAbortHandler)
	}()
	if in, err := client.Recv(t.Context()); err != nil || in.Err != nil {
		t.Errorf("the request has failed: %v, %v", in.Err, err)
	}
}

// stranded is an errand that counts its calls.
type stranded struct{ recalled, run atomic.Int32 }

func (e *stranded) Recall() { e.recalled.Add(1) }
func (e *stranded) Run()    { e.run.Add(1) }

// crashing is a session that panics after it has lent an errand.
type crashing struct {
	*testSession
	t    *testing.T
	lent *stranded
}

func (s crashing) Deliver(_ context.Context, _ jsonrpc.Message, out transport.Sink) error {
	if !out.(transport.Lender).Lend(s.lent) {
		s.t.Error("it was not lent")
	}
	panic("after it was lent")
}

// An errand is also passed on if its lender panics before it waits for the answer.
func TestErrandOfAPanicIsPassedOn(t *testing.T) {
	e, host, connections := &stranded{}, newPricedHost(t), &Connections{}
	host.session = crashing{host.one, t, e}
	s := httptest.NewUnstartedServer(nil)
	s.Config = NewHTTPServer(ServerOptions{
		Handler: NewHandler(Options{Host: host, Store: host.store}), Connections: connections,
		Panicked: func(*http.Request, any, []uintptr) error { return errors.New("crashed") },
	})
	s.Listener = connections.Listener(s.Listener)
	s.Start()
	defer s.Close()
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, s.URL,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"call"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", "session-1")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("status %d", resp.StatusCode)
	}
	if e.recalled.Load() != 1 || e.run.Load() != 1 {
		t.Errorf("recalled %d times, run %d times, want once each", e.recalled.Load(), e.run.Load())
	}
}

// A late signal for a stream response only causes a spurious wake-up of the next stream response of
// its connection.
func TestLateWordWakesForNothing(t *testing.T) {
	line, streams := &connection{}, NewStore(StoreOptions{}).plain("acme")
	before := replyOver(line, streams, 1, false)
	before.out.signal()
	r := replyOver(line, streams, 1, false)
	if len(r.out.wake) > 0 {
		t.Error("it begins with the word of the one before")
	}
	before.out.tick()
	<-r.out.wake
	if shape := r.decide(r.out.ticked.Load()); shape != undecided {
		t.Errorf("it is answered as %v, without an outcome", shape)
	}
	r.Finish(jsonrpc.Response(jsonrpc.IntID(1), []byte(`{}`)))
	<-r.out.wake
	if shape := r.decide(false); shape != asJSON {
		t.Errorf("its outcome is answered as %v", shape)
	}
}

// A server that reads nothing does not block the goroutine that sends a request to it.
func TestErrandIsRecalledWhileItWrites(t *testing.T) {
	stop := make(chan struct{})
	ln, err := (&net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 4096)
		_, _ = conn.Read(buf)
		_, _ = conn.Write(
			[]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
				"36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
		)
		<-stop
	})
	defer wg.Wait()
	defer close(stop)
	tr := NewTransport(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := Direct(ctx, network, address)
		if err == nil {
			_ = conn.(*net.TCPConn).SetWriteBuffer(4096)
		}
		return conn, err
	})
	client, err := NewClient(ClientOptions{URL: "http://" + ln.Addr().String(), Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	by := &errands{}
	_ = client.SendBy(t.Context(), jsonrpc.Request(jsonrpc.IntID(1), "call", nil), by)
	by.lent[0].Run()
	if in, err := client.Recv(t.Context()); err != nil || in.Err != nil {
		t.Fatal(in.Err, err)
	}
	_ = client.SendBy(t.Context(),
		jsonrpc.Request(jsonrpc.IntID(2), "call", []byte(`{"x":"`+strings.Repeat("x", 60000)+`"}`)), by)
	returned := make(chan struct{})
	go func() { by.lent[1].Run(); close(returned) }()
	time.Sleep(100 * time.Millisecond)
	by.lent[1].Recall()
	select {
	case <-returned:
	case <-time.After(time.Second):
		t.Error("who carries it waits on a second after it was recalled")
	}
}

// brittle is a connection that panics at the second write.
type brittle struct {
	*net.TCPConn
	writes int
}

func (b *brittle) Write(p []byte) (int, error) {
	if b.writes++; b.writes > 1 {
		panic("brittle")
	}
	return b.TCPConn.Write(p)
}

// A panic in an errand ends the connection of its client, and leaks nothing. The goroutine that ran
// the errand continues.
func TestErrandThatPanics(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}))
	defer up.Close()
	tr := NewTransport(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := Direct(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &brittle{TCPConn: conn.(*net.TCPConn)}, nil
	})
	defer tr.CloseIdleConnections()
	var queued atomic.Int64
	client, err := NewClient(ClientOptions{
		URL: up.URL, Transport: tr, Queued: func(n int) { queued.Add(int64(n)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	by := &errands{}
	for id := range uint64(2) {
		m := jsonrpc.Request(jsonrpc.IntID(id+1), "call", nil)
		if err := client.SendBy(t.Context(), m, by); err != nil {
			t.Fatal(err)
		}
		by.lent[id].Run()
		in, err := client.Recv(t.Context())
		if first := id == 0; first != (err == nil && in.Err == nil) {
			t.Errorf("call %d: %v, %v", id+1, in.Err, err)
		}
	}
	if err := client.Close(t.Context()); err != nil { // it waits for the first
		t.Error(err)
	}
	if n := queued.Load(); n != 0 || len(client.inFlight) != 0 || len(client.posts) != 0 {
		t.Errorf("left: %d bytes queued, %d in flight, %d places", n, len(client.inFlight),
			len(client.posts))
	}
}
