package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/telemetry"
	"mcpd/telemetry/drops"
	"mcpd/transport/streamable"
)

// draining returns a listener with its own server. idle returns how long nothing was in flight.
func draining(t *testing.T, idle func() time.Duration, told *[]telemetry.Event) *listener {
	t.Helper()
	l, err := listenConfig(time.Minute).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listenerOn([]net.Listener{l}, idle, told)
}

func listenerOn(sockets []net.Listener, idle func() time.Duration,
	told *[]telemetry.Event) *listener {
	l := &listener{
		clock: clock.System, budget: time.Minute, begins: func(*drain) {}, idle: idle,
		handover: &handover{}, awaited: func() bool { return false }, endStreams: func() {},
		unread: drops.NewShared(clock.System, func(e telemetry.Event) { *told = append(*told, e) }),
	}
	l.connections = &streamable.Connections{}
	for _, s := range sockets {
		g := &gate{Listener: s}
		l.gates, l.sockets = append(l.gates, g), append(l.sockets, l.connections.Listener(g))
	}
	l.server = streamable.NewHTTPServer(streamable.ServerOptions{
		Handler:     l.lastAnswers(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
		Connections: l.connections,
	})
	return l
}

// A client that is between two requests when the listener is told to stop gets an answer to the
// next one. The answer says that the connection ends.
func TestNoRequestCrossesWithTheEndOfItsConnection(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return time.Hour }, &told)
	l.unread.Notification(telemetry.NotificationDropped{Count: 1})
	l.unread.Notification(telemetry.NotificationDropped{Count: 2})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()

	c := newCaller(t, l)
	if r := c.ask(); r.Close {
		t.Fatal("the first answer ends the connection")
	}
	stop()
	for !l.parting.Load() {
		pause(time.Millisecond)
	}
	if r := c.ask(); !r.Close {
		t.Error("the last answer does not end the connection")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := net.Dial("tcp", l.sockets[0].Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v from a listener that has ended", err)
	}
	if len(told) != 2 { // includes the report that was not due yet
		t.Errorf("told of %+v, want all that was dropped", told)
	}
}

// While a request is in flight, connections are accepted, and last longer than one answer.
func TestListenerThatDrainsAccepts(t *testing.T) {
	var told []telemetry.Event
	var free atomic.Bool
	l := draining(t, func() time.Duration {
		if free.Load() {
			return time.Hour
		}
		return 0
	}, &told)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	newCaller(t, l).ask()
	stop()
	pause(2 * partingNotice)
	c := newCaller(t, l)
	for range 2 {
		if r := c.ask(); r.Close {
			t.Error("an answer in the middle of a drain ends its connection")
		}
	}
	free.Store(true)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// caller is a client with one connection.
type caller struct {
	t       *testing.T
	conn    net.Conn
	answers *bufio.Reader
}

func newCaller(t *testing.T, l *listener) *caller {
	t.Helper()
	c, err := net.Dial("tcp", l.sockets[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{t, c, bufio.NewReader(c)}
}

func (c *caller) ask() *http.Response {
	c.t.Helper()
	r, err := c.try()
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *caller) try() (*http.Response, error) {
	if _, err := fmt.Fprint(c.conn,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
		return nil, err
	}
	r, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return nil, err
	}
	return r, r.Body.Close()
}
