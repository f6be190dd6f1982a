package streamable

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"
)

const (
	// DefaultHeaderTime is the time limit for the header fields of a request or for the HTTP/2
	// preface. For the first request of a connection it includes the TLS handshake.
	DefaultHeaderTime = 5 * time.Second
	// DefaultHeaderBytes limits the size of the header fields, in bytes.
	DefaultHeaderBytes = 32 << 10
	// ownHeaderBytes is the number of bytes that net/http adds to its limit. It answers 431 beyond
	// that.
	ownHeaderBytes = 4 << 10
	// DefaultIdleTime is how long an unused connection is kept. Proxies keep their connections for a
	// minute and must not find them closed.
	DefaultIdleTime = 75 * time.Second
	// DefaultHTTP2Streams is the maximum number of open requests on one HTTP/2 connection.
	DefaultHTTP2Streams = 100
	// ConnectionWindow is the number of bytes that an HTTP/2 connection may send before they are read.
	// It is the largest value that net/http accepts. Up to 63 bodies that wait for room leave window
	// for other bodies, which a proxy may send over the same connection.
	ConnectionWindow = 4<<20 - 1
	// RequestWindow is the flow-control window of each HTTP/2 request. It equals the number of bytes
	// that a client may send before it has read the server's settings (RFC 9113 §6.9.2). With a
	// smaller window, net/http would treat the first body of a connection as a protocol violation.
	RequestWindow = 64<<10 - 1
)

// ServerOptions configures NewHTTPServer. Handler is required.
type ServerOptions struct {
	// Handler serves the requests: a *Handler, or a mux that contains one.
	Handler http.Handler
	// Drain lists the functions, such as Handler.Drain, that Shutdown calls to end streams. Without
	// them, open streams would hold up Shutdown until its deadline.
	Drain []func()
	// H2C enables HTTP/2 without TLS for clients that start with the HTTP/2 preface.
	H2C bool
	// Certificate enables TLS 1.2 and later, with HTTP/2.
	Certificate *Certificate
	// Connections counts the connections and may limit them. Default: a new Connections.
	Connections *Connections
	// HeaderTime, IdleTime, HeaderBytes and HTTP2Streams replace the defaults. Zero means the default.
	HeaderTime, IdleTime      time.Duration
	HeaderBytes, HTTP2Streams int
	// Panicked is told of each panic of the Handler, with its value and stack, and returns the crash
	// as an error. If the answer has not begun, the client receives that error with status 500.
	// Otherwise the request ends and, except with HTTP/2, its connection too. A nil Panicked leaves
	// the panic to Logger.
	Panicked func(r *http.Request, value any, pcs []uintptr) error
	// Logger receives the messages of net/http about broken connections, at debug level. Default:
	// nothing is logged.
	Logger *slog.Logger
}

// NewHTTPServer returns a server with the limits of this package. The server has no write timeout,
// because that would end every stream. A Handler sets deadlines as it writes instead. Serve
// connections accepted by Connections.Listener, or by SecureListener for TLS.
func NewHTTPServer(o ServerOptions) *http.Server {
	if o.Connections == nil {
		o.Connections = &Connections{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	server := &http.Server{
		Handler:           &recovering{o.Handler, o.Panicked},
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
		MinVersion: tls.VersionTLS12, GetCertificate: o.Certificate.get,
		NextProtos: []string{"h2", "http/1.1"},
	}
	// net/http detects TLS only for a *tls.Conn, and then nothing else can observe the framing of its
	// requests. The connections of SecureListener therefore look like connections without TLS.
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// recovering wraps the Handler and sees every request first.
type recovering struct {
	http.Handler
	panicked func(r *http.Request, value any, pcs []uintptr) error
}

func (s *recovering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Clear the write deadline that a Handler has left for the end of the previous request.
	deadline(w).SetWriteDeadline(time.Time{})
	c := connectionOf(r)
	if r.TLS == nil {
		r.TLS = c.tls()
	}
	if from := c.source(); from != "" {
		// RemoteAddr was set by net/http before the proxy header arrived.
		r.RemoteAddr = from
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
	if left || c.tooManyResets() {
		w.Header().Set("Connection", "close") // HTTP/2 turns this into GOAWAY
	}
	defer func() { // the Handler panics when its client has left
		if r.Context().Err() != nil {
			c.reset(time.Now())
		}
	}()
	s.Handler.ServeHTTP(w, r)
}
