package supervisor

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpd/telemetry"
)

// Clients open a connection for each request while the listener closes. They are answered or
// refused; none of their connections is reset.
func TestClosingListenerResetsNoConnection(t *testing.T) {
	for range 2 {
		var told []telemetry.Event
		l := draining(t, func() time.Duration { return time.Hour }, &told)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Serve(ctx) }()
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for callOnce(t, l.sockets[0].Addr().String()) {
				}
			})
		}
		pause(20 * time.Millisecond)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		clients.Wait()
	}
}

// callOnce makes one request over its own connection, and reports whether it was answered.
func callOnce(t *testing.T, address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connect: %v", err)
		}
		return false
	}
	defer conn.Close()
	r, err := http.NewRequest(http.MethodPost, "http://"+address+"/", nil)
	if err == nil {
		err = r.Write(conn)
	}
	if err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(bufio.NewReader(conn), r); err == nil {
			err = resp.Body.Close()
		}
	}
	if err != nil {
		t.Errorf("a request over a new connection: %v", err)
	}
	return err == nil
}
