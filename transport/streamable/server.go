package streamable

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"
)

const (
	// DefaultHeaderTime is how long the header fields of a request may take, or the preface of HTTP/2,
	// with the handshake of TLS before the first of them.
	DefaultHeaderTime = 5 * time.Second
	// DefaultHeaderBytes bounds the header fields.
	DefaultHeaderBytes = 32 << 10
	// ownHeaderBytes is what net/http adds to its bound. It answers 431.
	ownHeaderBytes = 4 << 10
	// DefaultIdleTime is how long an unused connection is kept. Proxies keep theirs for 60 s and must not find them closed.
	DefaultIdleTime = 75 * time.Second
	// DefaultHTTP2Streams is how many requests of one connection of HTTP/2 may be open.
	DefaultHTTP2Streams = 100
	// ConnectionWindow is what a connection of HTTP/2 may send before it is read: net/http takes no
	// more. Bodies that wait for room leave that of others free, which a proxy may send over the
	// same connection, as long as there are no more than 63 of them.
	ConnectionWindow = 4<<20 - 1
	// RequestWindow is that of each request: as much as a client may send before it has read what it
	// may send (RFC 9113 §6.9.2). With less, net/http would take the first body of a connection for
	// a breach.
	RequestWindow = 64<<10 - 1
)

// ServerOptions configures NewHTTPServer. Handler is required.
type ServerOptions struct {
	// Handler serves the requests: a *Handler, or a mux with one in it.
	Handler http.Handler
	// Drain lists what Shutdown tells to end its streams, as Handler.Drain. Without it open streams would hold Shutdown up to its end.
	Drain []func()
	// H2C turns on HTTP/2 without TLS, for clients that begin with it.
	H2C bool
	// Certificate turns on TLS 1.2 and later, with HTTP/2.
	Certificate *Certificate
	// Connections counts, and may bound. Default: one of its own.
	Connections *Connections
	// HeaderTime, IdleTime, HeaderBytes and HTTP2Streams: see the defaults, which zero means.
	HeaderTime, IdleTime      time.Duration
	HeaderBytes, HTTP2Streams int
	// Panicked is told of each panic of the Handler, with its value and the stack, and returns the crash.
	// A client whose answer has not begun is told of it with 500; else its request ends, and but for
	// HTTP/2 its connection. Nil leaves it to Logger.
	Panicked func(r *http.Request, value any, pcs []uintptr) error
	// Logger gets what net/http has to say of broken connections, at debug level. Default: nothing is logged.
	Logger *slog.Logger
}

// NewHTTPServer makes a server with the bounds of this package. It has no timeout for writes, which would end every stream: a Handler
// sets deadlines as it writes. Serve what Connections.Listener accepts, or SecureListener with TLS.
func NewHTTPServer(o ServerOptions) *http.Server {
	if o.Connections == nil {
		o.Connections = &Connections{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	server := &http.Server{
		Handler:           &served{o.Handler, o.Panicked},
		ReadHeaderTimeout: cmp.Or(o.HeaderTime, DefaultHeaderTime),
		MaxHeaderBytes:    cmp.Or(o.HeaderBytes, DefaultHeaderBytes) - ownHeaderBytes,
		IdleTimeout:       cmp.Or(o.IdleTime, DefaultIdleTime),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          cmp.Or(o.HTTP2Streams, DefaultHTTP2Streams),
			MaxReceiveBufferPerConnection: ConnectionWindow,
			MaxReceiveBufferPerStream:     RequestWindow,
		},
		ConnState:   o.Connections.track,
		ConnContext: o.Connections.remember,
		ErrorLog:    slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	for _, drain := range o.Drain {
		server.RegisterOnShutdown(drain)
	}
	if o.Certificate == nil {
		if o.H2C {
			server.Protocols = new(http.Protocols)
			server.Protocols.SetHTTP1(true)
			server.Protocols.SetUnencryptedHTTP2(true)
		}
		return server
	}
	server.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: o.Certificate.get, NextProtos: []string{"h2", "http/1.1"},
	}
	// net/http finds out that a connection has TLS only if it is a *tls.Conn, and then nobody sees
	// how its requests are framed. Those of SecureListener look like connections without TLS.
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// served is what every request passes first.
type served struct {
	http.Handler
	panicked func(r *http.Request, value any, pcs []uintptr) error
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deadline(w).SetWriteDeadline(time.Time{}) // that a Handler left on the connection for the end of the request before
	c := connectionOf(r)
	if r.TLS == nil {
		r.TLS = c.tls()
	}
	if from := c.source(); from != "" {
		r.RemoteAddr = from // net/http has asked before the proxy had said it
	}
	left := c.begin(r.ProtoMajor == 2)
	defer c.finish()
	response := c.respond(w, r.ProtoMajor)
	defer response.clear()
	w = response
	defer s.report(response, r)
	if r.ProtoMajor != 2 {
		s.Handler.ServeHTTP(w, r)
		return
	}
	if left || c.wornOut() {
		w.Header().Set("Connection", "close") // as which HTTP/2 sends GOAWAY
	}
	defer func() { // a Handler that is left panics
		if r.Context().Err() != nil {
			c.reset(time.Now())
		}
	}()
	s.Handler.ServeHTTP(w, r)
}
