package endings

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay is a TCP proxy that copies bytes.
type relay struct {
	address, to string
	mu          sync.Mutex // guards the fields below
	l           net.Listener
	conns       map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{address: "127.0.0.1:0", to: strings.TrimPrefix(to, "http://")}
	r.listen(t)
	t.Cleanup(r.close)
	return r
}

func (r *relay) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.l, r.address, r.conns = l, l.Addr().String(), map[net.Conn]bool{}
	r.mu.Unlock()
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(c) // ends with either connection
		}
	}()
}

func (r *relay) carry(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer s.Close()
	r.mu.Lock()
	r.conns[c], r.conns[s] = true, true
	r.mu.Unlock()
	go func() { // ends with the connections
		_, _ = io.Copy(s, c)
		_ = s.Close()
	}()
	_, _ = io.Copy(c, s)
}

// close ends the relay and resets all connections, as a kill does.
func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.l.Close()
	for c := range r.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

func (r *relay) kill(t *testing.T) {
	r.close()
	time.Sleep(200 * time.Millisecond)
	r.listen(t)
}
