package streamable

import (
	"fmt"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Retire ends connections for a server that is about to stop: those that have had no request for
// quiet, and on which none is arriving. It returns how many others are idle, and how many have
// requests open. Clients of idle ones may be about to send a request, whose answer can still say
// that the connection ends: after http.Server.Shutdown none is answered. Last says that nobody
// waits for that any more. A request that crosses with the end is refused, and may come again
// after comeBack. Connections of HTTP/2 end by GOAWAY, which clients understand at any time: they
// do not count.
func (c *Connections) Retire(quiet, comeBack time.Duration, last bool) (idle, open int) {
	now, answer := time.Now(), parting(comeBack)
	for _, conn := range c.each() {
		switch conn.retire(now, quiet, last, answer) {
		case retireWaits:
			idle++
		case retireBusy:
			open++
		case retireEnds:
		}
	}
	return idle, open
}

// parting is what a client is told whose connection ends between two requests. A client that has
// sent nothing takes 408 for the end of the connection (RFC 9110 §15.5.9), and any other for its
// answer.
func parting(comeBack time.Duration) []byte {
	m := jsonrpc.Failure(jsonrpc.ID{}, protocol.Translate(protocol.Stopping("", false), 0))
	body := m.Append(nil)
	return fmt.Appendf(nil, "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"+
		"Retry-After: %s\r\nContent-Length: %d\r\n\r\n%s", wholeSeconds(comeBack), len(body), body)
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

// retirement is what Retire has done with a connection.
type retirement uint8

const (
	retireEnds  retirement = iota // it has ended, or ends by itself
	retireBusy                    // it has requests
	retireWaits                   // for a request
)

// retire ends a connection, unless something speaks against it. It begins no request then.
func (c *connection) retire(now time.Time, quiet time.Duration, last bool, answer []byte) retirement {
	c.mu.Lock() // a request that is about to begin waits until the answer is written
	defer c.mu.Unlock()
	switch {
	case c.left || c.multiplexes:
		return retireEnds
	case c.open > 0:
		return retireBusy
	case last:
	case c.changed.IsZero(), now.Sub(c.changed) < quiet, c.asked.Load(), arriving(c.raw):
		return retireWaits
	}
	c.left = true
	if c.secure != nil && c.changed.IsZero() { // the handshake of TLS may not be over
		_ = c.raw.Close()
		return retireEnds
	}
	c.dismissed.Store(true)
	_ = c.Conn.SetWriteDeadline(now.Add(afterTime))
	_, _ = c.Conn.Write(answer) // in vain where the client has not read for long, or has gone
	_ = c.CloseWrite()
	_ = c.Conn.SetReadDeadline(now.Add(afterTime))
	return retireEnds
}
