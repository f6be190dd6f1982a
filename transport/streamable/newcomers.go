package streamable

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// newcomerTime is how long a connection without the whole head of a request is left alone when there is no room for another. One who means to ask
	// sends it with the end of the handshake; the rest are slow on purpose, or for later.
	newcomerTime = 100 * time.Millisecond
	// roomWait is how long a listener that may open no more files waits for some. It is also how often it makes room.
	roomWait = 10 * time.Millisecond
)

// newcomers are the connections that have not yet sent the head of a request. Those who hold many of them open hold up nobody who asks something.
type newcomers struct {
	n     atomic.Int64 // how many there are, so that the requests of older connections take no lock
	mu    sync.Mutex   // guards the rest
	since list.List    // of newcomer, the oldest first
	of    map[net.Conn]*list.Element
}

type newcomer struct {
	net.Conn
	came    time.Time
	preface bool // of HTTP/2 was read, of which net/http says that the connection is active
}

func (n *newcomers) add(conn net.Conn, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[net.Conn]*list.Element{}
	}
	n.of[conn] = n.since.PushBack(&newcomer{Conn: conn, came: now})
	n.n.Add(1)
}

// active is for one that has sent a head, or the preface of HTTP/2, with which nothing is asked.
func (n *newcomers) active(conn net.Conn) {
	if n.n.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	e, ok := n.of[conn]
	if !ok {
		return
	}
	if c, ok := conn.(*tls.Conn); ok && !e.Value.(*newcomer).preface && c.ConnectionState().NegotiatedProtocol == "h2" {
		e.Value.(*newcomer).preface = true
		return
	}
	n.remove(e)
}

// drop is for one that is gone.
func (n *newcomers) drop(conn net.Conn) {
	if n.n.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if e, ok := n.of[conn]; ok {
		n.remove(e)
	}
}

func (n *newcomers) remove(e *list.Element) {
	delete(n.of, n.since.Remove(e).(*newcomer).Conn)
	n.n.Add(-1)
}

// yield closes the oldest, unless it has only just come, and reports whether there was one.
func (n *newcomers) yield(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.since.Front()
	if e == nil || now.Sub(e.Value.(*newcomer).came) < newcomerTime {
		return false
	}
	e.Value.(*newcomer).Close()
	n.remove(e)
	return true
}

// Listener is l for a process that may run out of descriptors: the oldest connection on which nothing was asked yet makes room for whoever
// waits. As long as there is none, clients wait to be accepted.
func (c *Connections) Listener(l net.Listener) net.Listener { return &listener{l, c} }

type listener struct {
	net.Listener
	all *Connections
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return conn, err
		}
		if waited(l.Listener) && l.all.newcomers.yield(time.Now()) {
			l.all.refused()
		}
		wait, cancel := context.WithTimeout(context.Background(), roomWait)
		<-wait.Done()
		cancel()
	}
}
