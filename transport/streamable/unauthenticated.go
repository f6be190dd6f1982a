package streamable

import (
	"container/list"
	"net/netip"
	"time"
)

const (
	// unauthenticatedGrace is the age below which an unauthenticated connection is not closed, if
	// others can wait to be accepted instead. Genuine clients send a request right after the
	// handshake.
	unauthenticatedGrace = 100 * time.Millisecond
	// plainWeight and secureWeight are the memory of a connection before any input: its goroutine, its
	// buffers and, with TLS, the state of the handshake.
	plainWeight  = 16 << 10
	secureWeight = 48 << 10
	// headWeight is the memory for each byte of a request head: the byte is read into a buffer and
	// then stored.
	headWeight = 2
)

// unauthenticatedConns holds the connections that have not made an authenticated request, oldest
// first. The mutex of Connections guards it.
type unauthenticatedConns struct {
	all   list.List // of *connection
	bytes int64
	from  map[netip.Prefix]*unauthenticatedOf
}

// unauthenticatedOf holds those of one address.
type unauthenticatedOf struct {
	all   list.List
	bytes int64
}

func (u *unauthenticatedConns) len() int { return u.all.Len() }

func (u *unauthenticatedConns) add(conn *connection, now time.Time) {
	conn.came = now
	conn.place = u.all.PushBack(conn)
	if conn.counted {
		of := u.from[conn.group]
		if of == nil {
			if u.from == nil {
				u.from = map[netip.Prefix]*unauthenticatedOf{}
			}
			of = &unauthenticatedOf{}
			u.from[conn.group] = of
		}
		conn.placeOf = of.all.PushBack(conn)
	}
	u.weigh(conn, conn.baseWeight())
}

// weigh sets the memory that a connection is counted with. Connections of an address that is not
// counted weigh nothing: a trusted proxy has as many connections as its clients need.
func (u *unauthenticatedConns) weigh(conn *connection, weight int64) {
	if !conn.counted {
		return
	}
	more := weight - conn.weight
	conn.weight = weight
	u.bytes += more
	u.from[conn.group].bytes += more
}

func (u *unauthenticatedConns) remove(conn *connection) {
	if conn.place == nil {
		return
	}
	u.weigh(conn, 0)
	u.all.Remove(conn.place)
	if of := u.from[conn.group]; conn.placeOf != nil {
		if of.all.Remove(conn.placeOf); of.all.Len() == 0 {
			delete(u.from, conn.group)
		}
	}
	conn.place, conn.placeOf = nil, nil
}

// oldest returns the oldest connection if it has at least the given age, else nil.
func (u *unauthenticatedConns) oldest(now time.Time, age time.Duration) *connection {
	e := u.all.Front()
	if e == nil || now.Sub(e.Value.(*connection).came) < age {
		return nil
	}
	return e.Value.(*connection)
}

// baseWeight returns the weight of a connection before any input.
func (c *connection) baseWeight() int64 {
	if c.secure != nil {
		return secureWeight
	}
	return plainWeight
}

// countInput adds input to the weight of an unauthenticated connection, and reports whether the
// connection may continue.
func (c *Connections) countInput(conn *connection, n int) bool {
	if c.UnauthenticatedBytes == 0 && c.UnauthenticatedBytesPerAddress == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place == nil { // it has authenticated or ended
		return !conn.ended
	}
	c.unauthenticated.weigh(conn, conn.weight+headWeight*int64(n))
	c.trim(conn)
	return !conn.ended
}

// resetWeight resets the weight of a connection whose answer was sent.
func (c *Connections) resetWeight(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place != nil {
		c.unauthenticated.weigh(conn, conn.baseWeight())
	}
}

// trim closes the oldest unauthenticated connections while these exceed a limit, first those of the
// address of conn. The mutex is held.
func (c *Connections) trim(conn *connection) {
	for conn.counted && c.UnauthenticatedBytesPerAddress > 0 {
		of := c.unauthenticated.from[conn.group]
		if of == nil || of.bytes <= c.UnauthenticatedBytesPerAddress {
			break
		}
		c.evictUnauthenticated(of.all.Front().Value.(*connection), c.UnauthenticatedBytesPerAddress)
	}
	for c.UnauthenticatedBytes > 0 && c.unauthenticated.bytes > c.UnauthenticatedBytes {
		oldest := c.unauthenticated.all.Front()
		for oldest != nil && !oldest.Value.(*connection).counted {
			oldest = oldest.Next()
		}
		c.evictUnauthenticated(oldest.Value.(*connection), c.UnauthenticatedBytes)
	}
}

func (c *Connections) evictUnauthenticated(conn *connection, bound int64) {
	c.pressure.unknown(time.Now(), conn.group, bound)
	c.end(conn, unauthenticated)
}
