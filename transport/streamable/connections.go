package streamable

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Connections counts the connections of one or more servers, and divides what there is of them:
// between tenants, whose they are from their first authenticated request on, and those that have
// made none yet. The zero Connections has no bound.
type Connections struct {
	// Max is how many may be open at once. When there is one more, the oldest that has not
	// authenticated ends, or it is closed itself. An eighth is for those that have not. 0 is no bound.
	Max int64
	// Files is how many files the process may have open. When hardly any is left, for whatever they
	// are open, there are no more connections than there are then. 0 is no bound.
	Files int64
	// Divide divides connections between tenants. Nil is no bound for any of them.
	Divide func(total int64) Division
	// PerAddress is how many connections an address may have open; 0 is no bound. Group says which
	// addresses are one, and which are not counted here and in UnknownOf.
	PerAddress int
	Group      func(netip.Addr) (netip.Prefix, bool)
	// Proxied says whether connections of an address begin with a header of the PROXY protocol. Nil is
	// of none. It is for listeners of Connections.
	Proxied func(netip.Addr) bool
	// Unknown bounds the bytes that connections take which have not authenticated, and UnknownOf
	// those of one address. Beyond, the oldest of them end. 0 is no bound.
	Unknown, UnknownOf int64
	// Refused is told of each that was closed: why, in one word, who had opened it, and for which
	// tenant, if that is known. It must return at once. Nil is nobody.
	Refused func(reason string, from net.Addr, tenant string)

	open  atomic.Int64
	limit atomic.Int64 // how many there may be while files are short; 0 is Max

	shortAt atomic.Int64 // when they were last, in Unix nanoseconds

	mu       sync.Mutex               // guards the rest
	foreign  map[net.Conn]*connection // of listeners that are not ours
	from     map[netip.Prefix]int
	unknown  unknown
	tenants  map[string]*holder
	leaving  map[*connection]time.Time // that were asked to end, and when
	pressure pressure
}

// Division is how connections are divided between tenants: see quota.Shares.
type Division interface {
	Free() int64
	Excess(held int64) int64
	Admits(held, n, excess int64) bool
}

// Open is how many connections there are.
func (c *Connections) Open() int64 { return c.open.Load() }

// most is how many there may be now, and strange how many of them are for those that have not
// authenticated. 0 is no bound.
func (c *Connections) most() (all, strange int64) {
	all = c.Max
	if l := c.limit.Load(); l > 0 {
		all = l
	}
	return all, all - ForTenants(all)
}

// ForTenants is how many of all connections are for those that have authenticated.
func ForTenants(all int64) int64 { return all - (all+strangers-1)/strangers }

// strangers is the part of the connections that is kept for those that have not authenticated: one
// in eight.
const strangers = 8

// The words for why a connection was closed.
const (
	tooMany          = "too_many_connections"
	unauthenticated  = "unauthenticated_connections"
	badFramingReason = "framing"
)

func (c *Connections) refused(reason string, conn net.Conn, tenant string) {
	if c.Refused != nil {
		c.Refused(reason, conn.RemoteAddr(), tenant)
	}
}

// track is an http.Server.ConnState. Every connection that was new becomes closed or hijacked once.
func (c *Connections) track(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.arrive(c.known(conn))
	case http.StateIdle:
		known := c.known(conn)
		known.asked.Store(false)
		if known.tenant.Load() == nil {
			c.rest(known)
		}
		known.part()
	case http.StateClosed, http.StateHijacked:
		c.depart(conn)
	}
}

// known is what is known of a connection.
func (c *Connections) known(conn net.Conn) *connection {
	if ours, ok := conn.(*connection); ok {
		return ours
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.foreign[conn]
	if known == nil {
		if c.foreign == nil {
			c.foreign = map[net.Conn]*connection{}
		}
		known = &connection{Conn: conn, all: c, raw: conn}
		c.foreign[conn] = known
	}
	return known
}

// arrive counts a new connection, and closes it where there is no room.
func (c *Connections) arrive(conn *connection) {
	n := c.open.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	crowded := c.enter(conn)
	now := time.Now()
	most, _ := c.most()
	full := most > 0 && n > most && !c.room(now, 0) && c.Max > 0 && n > c.Max
	if crowded || full {
		c.refused(tooMany, conn, "")
		conn.shut()
		return
	}
	c.unknown.add(conn, now)
	c.trim(conn)
}

// depart forgets a connection that is closed.
func (c *Connections) depart(of net.Conn) {
	conn := c.known(of)
	c.open.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown.remove(conn)
	c.exit(conn)
	c.release(conn)
	delete(c.leaving, conn)
	delete(c.foreign, of)
}

// enter counts a connection for its address, and reports whether that has too many. The mutex is
// held.
func (c *Connections) enter(conn *connection) (crowded bool) {
	conn.group, conn.counted = c.groupOf(conn)
	if !conn.counted || c.PerAddress == 0 {
		return false
	}
	if c.from == nil {
		c.from = map[netip.Prefix]int{}
	}
	c.from[conn.group]++
	return c.from[conn.group] > c.PerAddress
}

// exit takes that back. The mutex is held.
func (c *Connections) exit(conn *connection) {
	if !conn.counted || c.PerAddress == 0 {
		return
	}
	if c.from[conn.group]--; c.from[conn.group] == 0 {
		delete(c.from, conn.group)
	}
}

// groupOf is which addresses count as one with that of a connection, and whether they count.
func (c *Connections) groupOf(conn *connection) (netip.Prefix, bool) {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || c.Group == nil {
		return netip.Prefix{}, false
	}
	return c.Group(from.Addr())
}

// leaveTime is how long a connection may take to end once it was asked to.
const leaveTime = time.Second

// room ends a connection, so that there is one less: one that takes too long to end, the oldest
// that has not authenticated, as long as they have more than what is kept for them, or the longest
// idle of the tenant that is furthest above its share. One that has not authenticated is left alone
// until it is so old. False is that there was none. The mutex is held.
func (c *Connections) room(now time.Time, age time.Duration) bool {
	for conn, since := range c.leaving { // whichever: all of these have had their time
		if now.Sub(since) > leaveTime && conn.idle() {
			delete(c.leaving, conn)
			conn.shut()
			return true
		}
	}
	all, strange := c.most()
	if all == 0 {
		all = c.open.Load()
	}
	if int64(c.unknown.len()) <= strange && c.evict(now, all-strange, nil) {
		return true
	}
	conn := c.unknown.oldest(now, age)
	if conn == nil {
		return false
	}
	c.end(conn, tooMany)
	return true
}

// end closes a connection that has not authenticated. The mutex is held.
func (c *Connections) end(conn *connection, why string) {
	c.unknown.remove(conn)
	conn.ended = true
	c.refused(why, conn, "")
	conn.shut()
}
