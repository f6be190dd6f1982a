package streamable

import (
	"fmt"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Retire closes connections for a server that is about to stop: those that have had no request for
// the duration quiet, and on which none is arriving. It returns how many other connections are
// idle, and how many have open requests. Clients of idle connections may be about to send a
// request, whose answer can still announce the end of the connection. After http.Server.Shutdown no
// such request is answered. Setting last closes all idle connections without further waiting. A
// request that crosses with the end is refused, and may be repeated after comeBack. Connections of
// HTTP/2 end by GOAWAY, which clients understand at any time, so they are not counted.
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

// parting returns the message for a client whose connection ends between two requests. A client
// that has sent nothing takes a 408 for the end of the connection (RFC 9110 §15.5.9). Any other
// client takes it for the answer to its request.
func parting(comeBack time.Duration) []byte {
	m := jsonrpc.Failure(jsonrpc.ID{}, protocol.Translate(protocol.Stopping("", false), 0))
	body := m.Append(nil)
	return fmt.Appendf(nil, "HTTP/1.1 408 Request Timeout\r\nContent-Type: "+
		"application/json\r\nConnection: close\r\n"+
		"Retry-After: %s\r\nContent-Length: %d\r\n\r\n%s", wholeSeconds(comeBack), len(body), body)
}

// each returns a snapshot of all connections.
func (c *Connections) each() []*connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*connection, 0, c.open.Load())
	for e := c.unauthenticated.all.Front(); e != nil; e = e.Next() {
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
	retireBusy                    // it has open requests
	retireWaits                   // it is idle, and a request may still arrive
)

// retire closes a connection, unless it is in use or a request may arrive. A closed connection
// accepts no further request.
func (c *connection) retire(now time.Time, quiet time.Duration, last bool,
	answer []byte) retirement {
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
	if c.secure != nil && c.changed.IsZero() { // the TLS handshake may still be in progress
		_ = c.raw.Close()
		return retireEnds
	}
	c.dismissed.Store(true)
	_ = c.Conn.SetWriteDeadline(now.Add(afterTime))
	_, _ = c.Conn.Write(answer) // fails if the client has not read for long, or has gone
	_ = c.CloseWrite()
	_ = c.Conn.SetReadDeadline(now.Add(afterTime))
	return retireEnds
}
