package supervisor

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// newcomers are the connections on which no request has been read yet. A server that shuts down
// answers none of them any more, so a drain waits for their first request, for newcomerTime at most
// and a third of what is left of it.
type newcomers struct {
	all   sync.Map // net.Conn to struct{}
	count atomic.Int64
}

// newcomerTime bounds that wait: a client that connects and says nothing must not prolong a drain.
const newcomerTime = second

// track is an http.Server.ConnState that calls another.
func (n *newcomers) track(then func(net.Conn, http.ConnState)) func(net.Conn, http.ConnState) {
	return func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.all.Store(conn, struct{}{})
			n.count.Add(1)
		} else if _, was := n.all.LoadAndDelete(conn); was {
			n.count.Add(-1)
		}
		if then != nil {
			then(conn, state)
		}
	}
}

// wait returns when there are none, and what they have sent is being answered. It closes those that
// have said nothing in time, for which a server that shuts down would wait.
func (n *newcomers) wait(left time.Duration) {
	const look = newcomerTime / 100
	for range min(newcomerTime, left/3) / look {
		if n.count.Load() == 0 {
			pause(look) // the last one's handler is about to begin
			return
		}
		pause(look)
	}
	n.all.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
}
