package streamable

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// headerTime is how long the headers of a request may take. It also bounds the preface of HTTP/2.
	headerTime = 5 * time.Second
	// headerBytes bounds them; net/http adds 4 KiB of its own and answers 431.
	headerBytes = 32<<10 - 4<<10
	// idleTime is how long an unused connection is kept. Proxies keep theirs for 60 s and must not find them closed.
	idleTime = 75 * time.Second
)

// ServerOptions configures NewHTTPServer. Handler is required.
type ServerOptions struct {
	// Handler serves the requests: a *Handler, or a mux with one in it.
	Handler http.Handler
	// Drain lists what Shutdown tells to end its streams, as Handler.Drain. Without it open streams would hold Shutdown up to its end.
	Drain []func()
	// CertFile and KeyFile turn on TLS 1.2 and later, with HTTP/2. Both or none.
	CertFile, KeyFile string
	// Connections counts, and may bound. Default: one of its own.
	Connections *Connections
	// Logger gets what net/http has to say of broken connections, at debug level. Default: nothing is logged.
	Logger *slog.Logger
}

// NewHTTPServer makes a server with the bounds of this package. It has no timeout for writes, which would end every stream: a Handler
// sets deadlines as it writes. With TLS, serve it by ServeTLS(l, "", "").
func NewHTTPServer(o ServerOptions) (*http.Server, error) {
	if o.Connections == nil {
		o.Connections = &Connections{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	server := &http.Server{
		Handler:           freshDeadline{o.Handler},
		ReadHeaderTimeout: headerTime,
		MaxHeaderBytes:    headerBytes,
		IdleTimeout:       idleTime,
		ConnState:         o.Connections.track,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	for _, drain := range o.Drain {
		server.RegisterOnShutdown(drain)
	}
	if o.CertFile == "" && o.KeyFile == "" {
		return server, nil
	}
	certificate, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls certificate %q with key %q: %w", o.CertFile, o.KeyFile, err)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	return server, nil
}

// freshDeadline takes away the write deadline that a Handler left on the connection for the end of the request before.
type freshDeadline struct{ http.Handler }

func (f freshDeadline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deadline(w).SetWriteDeadline(time.Time{})
	f.Handler.ServeHTTP(w, r)
}

// Connections counts the connections of one or more servers. The zero Connections has no bound.
type Connections struct {
	// Max is how many may be open at once; one more is closed as soon as it is accepted. 0 is no bound.
	Max int64

	open    atomic.Int64
	refused atomic.Int64
}

// Open is how many connections there are.
func (c *Connections) Open() int64 { return c.open.Load() }

// Refused is how many were closed because there were too many.
func (c *Connections) Refused() int64 { return c.refused.Load() }

// track is an http.Server.ConnState. Every connection that was new becomes closed or hijacked once.
func (c *Connections) track(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if n := c.open.Add(1); c.Max > 0 && n > c.Max {
			c.refused.Add(1)
			conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	}
}
