package supervisor

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mcpd/gateway/quota"
	"mcpd/transport/streamable"
)

// From the elevated level on, no idle connection to a server is kept. Connections in use continue.
func TestIdleConnectionsToServersMakeRoom(t *testing.T) {
	h := literal(t)
	closed, begun, proceed := make(chan struct{}, 4), make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-proceed
		}
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: h.transports.add(streamable.NewTransport(nil))}
	get := func(path string) error {
		r, err := client.Get(server.URL + path)
		if err == nil {
			err = r.Body.Close()
		}
		return err
	}
	slow := make(chan error, 1)
	go func() { slow <- get("/slow") }()
	<-begun
	if err := get("/"); err != nil {
		t.Fatal(err)
	}
	if n := h.transports.idle(); n != 1 {
		t.Errorf("%d connections are idle, want 1", n)
	}
	h.freeMemory(quota.Elevated)
	if n := h.transports.idle(); n != 0 {
		t.Errorf("%d connections are idle afterwards", n)
	}
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the idle connection is kept")
	}
	close(proceed)
	if err := <-slow; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
}
