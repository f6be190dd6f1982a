package supervisor

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// gate is a listener that can be shut for a while. Connections then wait in the kernel's backlog.
type gate struct {
	net.Listener
	mu     sync.Mutex    // guards the fields below
	opens  chan struct{} // closed when the gate opens; nil while it is open
	closed bool
}

// deadliner is implemented by the listeners of package net.
type deadliner interface{ SetDeadline(time.Time) error }

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(keepAlive) // a socket that was taken over has Go's defaults
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return conn, err
		}
		if opens := g.waits(); opens != nil {
			<-opens
		} else if g.isClosed() {
			return nil, net.ErrClosed
		}
	}
}

// waits returns the channel that Accept waits for, nil while the gate is open.
func (g *gate) waits() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opens
}

// shut shuts the gate, or opens it again.
func (g *gate) shut(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.Listener.(deadliner)
	switch {
	case !ok || g.closed || shut == (g.opens != nil):
	case shut:
		g.opens = make(chan struct{})
		_ = d.SetDeadline(time.Unix(1, 0))
	default:
		_ = d.SetDeadline(time.Time{})
		close(g.opens)
		g.opens = nil
	}
}

// Close implements net.Listener.
func (g *gate) Close() error {
	g.mu.Lock()
	g.closed = true // from now on, shut does nothing
	if g.opens != nil {
		close(g.opens)
		g.opens = nil
	}
	g.mu.Unlock()
	return g.Listener.Close()
}

func (g *gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// SyscallConn implements syscall.Conn.
func (g *gate) SyscallConn() (syscall.RawConn, error) {
	if c, ok := g.Listener.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
