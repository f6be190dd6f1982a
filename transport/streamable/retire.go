package streamable

import "time"

// Retire closes connections for a server that is about to stop: those that have had no request for
// quiet, and on which none is arriving. It returns how many others have no request. Their clients
// may be about to send one, to which the server can still say that the connection ends: after
// http.Server.Shutdown it would answer none. Last says that the first request of a connection is
// not waited for any more. Connections of HTTP/2 end by GOAWAY, which clients understand at any time.
func (c *Connections) Retire(quiet time.Duration, last bool) (left int) {
	now := time.Now()
	for _, conn := range c.each() {
		switch conn.retire(now, quiet, last) {
		case retireWaits:
			left++
		case retireEnds:
			_ = conn.Close() // its client learns of it in any case
		}
	}
	return left
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
	retireLeaves retirement = iota // it ends with an answer, or by itself
	retireWaits                    // for a request, or for the end of an answer
	retireEnds
)

// retire decides about a connection. After retireEnds it begins no request.
func (c *connection) retire(now time.Time, quiet time.Duration, last bool) retirement {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.left || c.open > 0 || c.multiplexes:
		return retireLeaves
	case last:
	case c.changed.IsZero(), now.Sub(c.changed) < quiet, c.asked.Load(), arriving(c.raw):
		return retireWaits
	}
	c.left = true
	return retireEnds
}
