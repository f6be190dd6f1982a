package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"syscall"
	"time"
)

// roomWait is how long a listener waits when the process has no free descriptor, before it tries to
// accept again. It is also how often it makes room.
const roomWait = 10 * time.Millisecond

// Listener wraps l for a process that may run out of descriptors. Then the oldest connection
// without a request is closed to make room for a waiting client. If there is none, clients wait to
// be accepted. The framing of requests is checked strictly on its connections.
func (c *Connections) Listener(l net.Listener) net.Listener { return &listener{l, c, nil, nil} }

// SecureListener is like Listener with TLS, for a server of NewHTTPServer that has a certificate.
// Use it with Serve: ServeTLS would bypass the strict framing checks.
func (c *Connections) SecureListener(l net.Listener, s *http.Server) net.Listener {
	return &listener{l, c, s.TLSConfig, s.ErrorLog}
}

type listener struct {
	net.Listener
	all      *Connections
	secure   *tls.Config // nil without TLS
	errorLog *log.Logger
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			return l.connection(conn), nil
		}
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return nil, err
		}
		l.all.short()
		if waited(l.Listener) {
			l.all.makeRoom()
		}
		wait, cancel := context.WithTimeout(context.Background(), roomWait)
		<-wait.Done()
		cancel()
	}
}

func (l *listener) connection(conn net.Conn) *connection {
	l.all.measure(conn)
	c := &connection{Conn: newDeadlines(conn), all: l.all, raw: conn, errorLog: l.errorLog}
	if proxied := l.all.Proxied; proxied != nil && proxied(peerOf(conn)) {
		c.proxied = newProxied(c.Conn, l.secure == nil)
		c.proxied.told = c.identify // a client that sends nothing more counts too
		c.Conn = c.proxied
	}
	if l.secure != nil {
		c.secure = tls.Server(c.Conn, l.secure)
		c.Conn = c.secure
	}
	return c
}
