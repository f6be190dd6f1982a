package streamable

import (
	"container/list"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// newcomerTime is how long a connection without the whole head of a request is left alone when there is no room for another. One who means to ask
// sends it with the end of the handshake; the rest are slow on purpose, or for later.
const newcomerTime = 100 * time.Millisecond

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
	if !e.Value.(*newcomer).preface && speaksHTTP2(conn) {
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

// speaksHTTP2 reports whether HTTP/2 was agreed on in the handshake, which is over.
func speaksHTTP2(conn net.Conn) bool {
	if c, ok := conn.(*connection); ok {
		conn = c.Conn
	}
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}
