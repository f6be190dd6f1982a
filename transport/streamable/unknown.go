package streamable

import (
	"container/list"
	"net/netip"
	"time"
)

const (
	// newcomerTime is how long a connection is left alone that has not authenticated, where others
	// can wait to be accepted instead. Who means to ask does so with the end of the handshake.
	newcomerTime = 100 * time.Millisecond
	// plainWeight and secureWeight are what a connection takes before anything was sent on it: its
	// goroutine, its buffers and, with TLS, the state of the handshake.
	plainWeight  = 16 << 10
	secureWeight = 48 << 10
	// headWeight is how many bytes a byte of a head takes: it is read to a buffer, and then kept.
	headWeight = 2
)

// unknown are the connections that have not made an authenticated request, the oldest first. The
// mutex of Connections guards it.
type unknown struct {
	all   list.List // of *connection
	bytes int64
	from  map[netip.Prefix]*unknownOf
}

// unknownOf are those of one address.
type unknownOf struct {
	all   list.List
	bytes int64
}

func (u *unknown) len() int { return u.all.Len() }

func (u *unknown) add(conn *connection, now time.Time) {
	conn.came = now
	conn.place = u.all.PushBack(conn)
	if conn.counted {
		of := u.from[conn.group]
		if of == nil {
			if u.from == nil {
				u.from = map[netip.Prefix]*unknownOf{}
			}
			of = &unknownOf{}
			u.from[conn.group] = of
		}
		conn.placeOf = of.all.PushBack(conn)
	}
	u.weigh(conn, conn.bare())
}

// weigh sets what a connection takes. One whose address does not count takes nothing: a trusted
// proxy has as many connections as its clients need.
func (u *unknown) weigh(conn *connection, weight int64) {
	if !conn.counted {
		return
	}
	more := weight - conn.weight
	conn.weight = weight
	u.bytes += more
	u.from[conn.group].bytes += more
}

func (u *unknown) remove(conn *connection) {
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

// oldest is the one that came first, if it is so old.
func (u *unknown) oldest(now time.Time, age time.Duration) *connection {
	e := u.all.Front()
	if e == nil || now.Sub(e.Value.(*connection).came) < age {
		return nil
	}
	return e.Value.(*connection)
}

// bare is what a connection takes on which nothing was sent.
func (c *connection) bare() int64 {
	if c.secure != nil {
		return secureWeight
	}
	return plainWeight
}

// heard weighs what was read of a connection that has not authenticated, and reports whether it may
// go on.
func (c *Connections) heard(conn *connection, n int) bool {
	if c.Unknown == 0 && c.UnknownOf == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place == nil { // it has authenticated, or ended
		return !conn.ended
	}
	c.unknown.weigh(conn, conn.weight+headWeight*int64(n))
	c.trim(conn)
	return !conn.ended
}

// rest takes note that a connection has no request: its answer is sent.
func (c *Connections) rest(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place != nil {
		c.unknown.weigh(conn, conn.bare())
	}
}

// trim ends the oldest that have not authenticated while they take too much, those of the address
// of conn first. The mutex is held.
func (c *Connections) trim(conn *connection) {
	for conn.counted && c.UnknownOf > 0 {
		of := c.unknown.from[conn.group]
		if of == nil || of.bytes <= c.UnknownOf {
			break
		}
		c.press(of.all.Front().Value.(*connection), c.UnknownOf)
	}
	for c.Unknown > 0 && c.unknown.bytes > c.Unknown {
		oldest := c.unknown.all.Front()
		for oldest != nil && !oldest.Value.(*connection).counted {
			oldest = oldest.Next()
		}
		c.press(oldest.Value.(*connection), c.Unknown)
	}
}

func (c *Connections) press(conn *connection, bound int64) {
	c.pressure.unknown(time.Now(), conn.group, bound)
	c.end(conn, unauthenticated)
}
