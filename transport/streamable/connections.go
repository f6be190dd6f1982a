package streamable

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Connections counts the connections of one or more servers. The zero Connections has no bound.
type Connections struct {
	// Max is how many may be open at once. One more takes the place of the oldest on which nothing was asked yet, or is closed as soon as it is
	// accepted. 0 is no bound.
	Max int64
	// PerAddress is the same for those of one address; 0 is no bound. Group says which addresses are one, and which are not counted.
	PerAddress int
	Group      func(netip.Addr) (netip.Prefix, bool)
	// Refused is told of each that was closed: why, in one word, who had opened it, and for which
	// tenant, if that is known. It must return at once. Nil is nobody.
	Refused func(reason string, from net.Addr, tenant string)

	open      atomic.Int64
	newcomers newcomers

	mu      sync.Mutex // guards the rest
	from    map[netip.Prefix]int
	serving map[net.Conn]string // what a connection was first used for, where that is bounded
	used    map[string]int      // how many of them serve it
}

// Open is how many connections there are.
func (c *Connections) Open() int64 { return c.open.Load() }

// track is an http.Server.ConnState. Every connection that was new becomes closed or hijacked once.
func (c *Connections) track(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		now, n, crowded := time.Now(), c.open.Add(1), c.PerAddress > 0 && c.of(conn, 1) > c.PerAddress
		full := c.Max > 0 && n > c.Max
		if crowded || full {
			c.refused(tooMany, conn, "")
		}
		if crowded || full && !c.newcomers.yield(now) {
			conn.Close()
			return
		}
		c.newcomers.add(conn, now)
	case http.StateActive:
		c.newcomers.active(conn)
	case http.StateClosed, http.StateHijacked:
		c.newcomers.drop(conn)
		c.open.Add(-1)
		if c.PerAddress > 0 {
			c.of(conn, -1)
		}
		c.release(conn)
	}
}

// The words for why a connection was closed.
const (
	tooMany          = "too_many_connections"
	badFramingReason = "framing"
)

func (c *Connections) refused(reason string, conn net.Conn, tenant string) {
	if c.Refused == nil {
		return
	}
	var from net.Addr
	if conn != nil {
		from = conn.RemoteAddr()
	}
	c.Refused(reason, from, tenant)
}

// of counts a connection of an address, or one less, and returns how many there are then.
func (c *Connections) of(conn net.Conn, more int) int {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	group, counts := c.Group(from.Addr())
	if err != nil || !counts {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from == nil {
		c.from = map[netip.Prefix]int{}
	}
	n := c.from[group] + more
	if c.from[group] = n; n == 0 {
		delete(c.from, group)
	}
	return n
}

// release counts one less for what a connection served.
func (c *Connections) release(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, ok := c.serving[conn]
	if !ok {
		return
	}
	delete(c.serving, conn)
	if c.used[name]--; c.used[name] == 0 {
		delete(c.used, name)
	}
}

// Serves counts the connection that a request came over among those that serve name, as which the first such call counts it, and reports
// whether there are no more than most of them.
func Serves(r *http.Request, name string, most int) bool {
	conn := connectionOf(r)
	if conn == nil {
		return true
	}
	c := conn.all
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, counted := c.serving[conn.known]; counted {
		return true
	}
	if c.used[name] >= most {
		return false
	}
	if c.serving == nil {
		c.serving, c.used = map[net.Conn]string{}, map[string]int{}
	}
	c.serving[conn.known] = name
	c.used[name]++
	return true
}
