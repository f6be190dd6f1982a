package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mcpd/telemetry"
)

const (
	// maxConns bounds the connections at once: four for each request that is served.
	maxConns = 256
	// maxHeader bounds the bytes of a request's header. Usual headers have a few hundred.
	maxHeader   = 16 << 10
	headerTime  = 5 * time.Second  // for a request's header to arrive
	requestTime = 10 * time.Second // for a whole request to arrive
	idleTime    = time.Minute      // between requests of one connection
	scrapeTime  = 10 * time.Second // the default of Prometheus for a scrape
	closeTime   = 500 * time.Millisecond
)

// Server is the admin listener. It is bound but does not serve yet.
type Server struct {
	listener net.Listener
	server   *http.Server
	conns    atomic.Int32
}

// Listen binds the address. A second host that starts then finds the port taken by the admin
// listener of the first.
func Listen(addr string, h http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: &reservingListener{TCPListener: l.(*net.TCPListener)}}
	s.server = &http.Server{
		Handler:           h,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       idleTime,
		ConnState:         s.limitConns,
	}
	return s, nil
}

// Addr returns the address that the listener is bound to.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close releases the port if Serve was never called.
func (s *Server) Close() error { return s.listener.Close() }

// Serve serves until ctx ends. That also ends the streams. Requests then have a moment to finish.
// Serve implements suture.Service.
func (s *Server) Serve(ctx context.Context) error {
	s.server.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := s.server.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	<-ended
	return errors.Join(ctx.Err(), err)
}

// limitConns closes connections beyond maxConns as they arrive.
func (s *Server) limitConns(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.conns.Add(1) > maxConns {
			c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.conns.Add(-1)
	}
}

// metrics serves the metrics.
func (h *handler) metrics() http.HandlerFunc {
	if h.Metrics == nil {
		return func(w http.ResponseWriter, _ *http.Request) {
			problem(w, http.StatusNotFound, "this host has no metrics", "only mcpd serve has them")
		}
	}
	return promhttp.HandlerFor(h.Metrics, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, // each walks the tree
		Timeout:             scrapeTime,
		ErrorHandling:       promhttp.HTTPErrorOnError,
	}).ServeHTTP
}

// UpEvent returns the event of a listener that is bound.
func (s *Server) UpEvent() telemetry.ListenerUp {
	return telemetry.ListenerUp{Name: "admin", Addr: s.Addr().String()}
}
