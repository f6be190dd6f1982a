package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/telemetry"
	"mcpd/telemetry/drops"
)

// Whoever is between two requests when the listener is told to stop has an answer to the next one, and it says that the connection ends.
func TestNoRequestCrossesWithTheEndOfItsConnection(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var told []telemetry.Event
	l := &listener{sockets: []net.Listener{socket}, drain: time.Minute, unread: drops.NewShared(clock.System, func(e telemetry.Event) { told = append(told, e) })}
	l.unread.Notification(telemetry.NotificationDropped{Count: 1})
	l.unread.Notification(telemetry.NotificationDropped{Count: 2})
	l.server = &http.Server{Handler: l.lastAnswers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()

	c, err := net.Dial("tcp", socket.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	ask := func() *http.Response {
		t.Helper()
		if _, err := fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r
	}
	if r := ask(); r.Close {
		t.Fatal("the first answer ends the connection")
	}
	stop()
	for refused := false; !refused; {
		next, err := net.Dial("tcp", socket.Addr().String())
		if refused = errors.Is(err, syscall.ECONNREFUSED); err == nil {
			next.Close()
		}
	}
	if r := ask(); !r.Close {
		t.Error("the last answer does not end the connection")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(told) != 2 { // also what was not due yet
		t.Errorf("told of %+v, want all that was dropped", told)
	}
}
