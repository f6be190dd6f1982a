package streamable

import "time"

// Retire closes connections for a server that is about to stop: those that have had no request for
// quiet, and on which none is arriving. It returns how many others are idle, and how many have
// requests open. Clients of idle ones may be about to send a request, to which the server can still
// say that the connection ends: after http.Server.Shutdown it would answer none. Last says that
// nobody waits for that any more. Connections of HTTP/2 end by GOAWAY, which clients understand at any
// time: they do not count.
func (c *Connections) Retire(quiet time.Duration, last bool) (idle, open int) {
	now := time.Now()
	for _, conn := range c.each() {
		switch conn.retire(now, quiet, last) {
		case retireWaits:
			idle++
		case retireBusy:
			open++
		case retireEnds:
			_ = conn.Close() // its client learns of it in any case
		}
	}
	return idle, open
}

// each is a snapshot of all connections.
func (c *Connections) each() []*connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*connection, 0, c.open.Load())
	for e := c.unknown.all.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*connection))
	}
	for _, h := range c.tenants {
		for conn := range h.conns {
			all = append(all, conn)
		}
	}
	return all
}

// retirement is what Retire does with a connection.
type retirement uint8

const (
	retireLeaves retirement = iota // it ends by itself
	retireBusy                     // it has requests
	retireWaits                    // for a request
	retireEnds
)

// retire decides about a connection. After retireEnds it begins no request.
func (c *connection) retire(now time.Time, quiet time.Duration, last bool) retirement {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.left || c.multiplexes:
		return retireLeaves
	case c.open > 0:
		return retireBusy
	case last:
	case c.changed.IsZero(), now.Sub(c.changed) < quiet, c.asked.Load(), arriving(c.raw):
		return retireWaits
	}
	c.left = true
	return retireEnds
}
