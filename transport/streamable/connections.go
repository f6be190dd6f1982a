package streamable

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Connections counts the connections of one or more servers and divides them: between the tenants,
// for connections that have had an authenticated request, and the connections that have had none.
// The zero Connections has no limits.
type Connections struct {
	// Max is the maximum number of open connections. Beyond it, an idle connection of the tenant that
	// is furthest above its share is closed, or the oldest unauthenticated connection, or else the new
	// one. One eighth of Max is reserved for unauthenticated connections. 0 means no limit.
	Max int64
	// Files is the maximum number of files that the process may have open. When few descriptors are
	// left, for whatever reason, the number of connections is limited to the current number. 0 means
	// no limit.
	Files int64
	// Divide divides connections between tenants. Nil sets no limit for any tenant.
	Divide func(total int64) Division
	// PerAddress is the maximum number of open connections of an address; 0 means no limit. Group
	// returns the prefix of addresses that count as one address. It returns false for addresses that
	// count neither here nor in UnauthenticatedBytesPerAddress.
	PerAddress int
	Group      func(netip.Addr) (netip.Prefix, bool)
	// Proxied reports whether connections from an address begin with a header of the PROXY protocol.
	// Nil means that none do. It applies to listeners made by Connections.
	Proxied func(netip.Addr) bool
	// UnauthenticatedBytes limits the bytes that unauthenticated connections take, and
	// UnauthenticatedBytesPerAddress those of one address. Beyond a limit, the oldest of these
	// connections are closed. 0 means no limit.
	UnauthenticatedBytes, UnauthenticatedBytesPerAddress int64
	// Refused is told of each connection that was closed: the reason in one word, the address of the
	// peer, and the tenant, if it is known. It must return at once. It may be nil.
	Refused func(reason string, from net.Addr, tenant string)

	open  atomic.Int64
	limit atomic.Int64 // the limit while descriptors are scarce; 0 means Max

	shortAt atomic.Int64 // when descriptors were last scarce, in Unix nanoseconds

	mu              sync.Mutex               // guards the rest
	foreign         map[net.Conn]*connection // connections of other listeners
	from            map[netip.Prefix]int
	unauthenticated unauthenticatedConns
	tenants         map[string]*tenantConns
	leaving         map[*connection]time.Time // connections that were asked to end, and when
	pressure        shortage
}

// Division is how connections are divided between tenants: see quota.Shares.
type Division interface {
	Free() int64
	Excess(held int64) int64
	Admits(held, n, excess int64) bool
}

// Open returns the number of connections.
func (c *Connections) Open() int64 { return c.open.Load() }

// limits returns the current maximum number of connections, and how many of them are for
// unauthenticated connections. 0 means no limit.
func (c *Connections) limits() (all, strange int64) {
	all = c.Max
	if l := c.limit.Load(); l > 0 {
		all = l
	}
	return all, all - ForTenants(all)
}

// ForTenants returns how many of all connections are for authenticated ones.
func ForTenants(all int64) int64 { return all - (all+unauthenticatedShare-1)/unauthenticatedShare }

// unauthenticatedShare is the divisor for the share of unauthenticated connections: one in eight.
const unauthenticatedShare = 8

// The reasons for which a connection is closed.
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

// track implements http.Server.ConnState. Every connection starts as new and becomes closed or
// hijacked exactly once.
func (c *Connections) track(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.arrive(c.known(conn))
	case http.StateIdle:
		known := c.known(conn)
		known.asked.Store(false)
		if known.tenant.Load() == nil {
			c.resetWeight(known)
		}
		known.closeIfAsked()
	case http.StateClosed, http.StateHijacked:
		c.depart(conn)
	}
}

// known returns the record of a connection, and creates one for a connection of another listener.
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

// arrive counts a new connection, and closes it if there is no room.
func (c *Connections) arrive(conn *connection) {
	n := c.open.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	crowded := c.enter(conn)
	now := time.Now()
	most, _ := c.limits()
	full := most > 0 && n > most && !c.room(now, 0) && c.Max > 0 && n > c.Max
	if crowded || full {
		c.refused(tooMany, conn, "")
		conn.closeNow()
		return
	}
	c.unauthenticated.add(conn, now)
	c.trim(conn)
}

// depart removes a connection that is closed.
func (c *Connections) depart(of net.Conn) {
	conn := c.known(of)
	c.open.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unauthenticated.remove(conn)
	c.exit(conn)
	c.release(conn)
	delete(c.leaving, conn)
	delete(c.foreign, of)
}

// enter counts a connection for its address, and reports whether the address has too many. The
// mutex is held.
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

// exit reverses enter. The mutex is held.
func (c *Connections) exit(conn *connection) {
	if !conn.counted || c.PerAddress == 0 {
		return
	}
	if c.from[conn.group]--; c.from[conn.group] == 0 {
		delete(c.from, conn.group)
	}
}

// groupOf returns the prefix of addresses that count as one with the address of a connection, and
// whether they count at all.
func (c *Connections) groupOf(conn *connection) (netip.Prefix, bool) {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || c.Group == nil {
		return netip.Prefix{}, false
	}
	return c.Group(from.Addr())
}

// leaveTime is how long a connection may take to end after it was asked to.
const leaveTime = time.Second

// room closes a connection to make room for another and reports whether it did. Its order of choice
// is: a connection that takes too long to end; the longest idle connection of the tenant that is
// furthest above its share, while unauthenticated connections do not exceed their own share; the
// oldest unauthenticated connection that has at least the given age. The mutex is held.
func (c *Connections) room(now time.Time, age time.Duration) bool {
	for conn, since := range c.leaving { // any of them: all have used up their time
		if now.Sub(since) > leaveTime && conn.idle() {
			delete(c.leaving, conn)
			conn.closeNow()
			return true
		}
	}
	all, strange := c.limits()
	if all == 0 {
		all = c.open.Load()
	}
	if int64(c.unauthenticated.len()) <= strange && c.evict(now, all-strange, nil) {
		return true
	}
	conn := c.unauthenticated.oldest(now, age)
	if conn == nil {
		return false
	}
	c.end(conn, tooMany)
	return true
}

// end closes an unauthenticated connection. The mutex is held.
func (c *Connections) end(conn *connection, reason string) {
	c.unauthenticated.remove(conn)
	conn.ended = true
	c.refused(reason, conn, "")
	conn.closeNow()
}
