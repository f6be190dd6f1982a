package client

import (
	"slices"
	"time"

	"mcpd/actors/request"
	"mcpd/transport"
)

// roomRetryDelay is the delay before a call that found no room in the server's input is tried
// again, if no answer comes before. A server that reads and thinks has room without having
// answered.
const roomRetryDelay = 50 * time.Millisecond

// roomRetryDue says that there may be room again.
type roomRetryDue struct{}

// noRoom reports whether the server's input has no room for a large call, before the call is copied
// for the input.
func (c *Connection) noRoom(x *request.Exchange) bool {
	if len(x.Params) < transport.Large {
		return false
	}
	input, ok := transport.As[interface{ Fits(bytes int) bool }](c.up)
	return ok && !input.Fits(len(x.Params))
}

// waitForRoom puts a call that found no room back at the head of the queue, and reports whether it
// did. If nothing is in flight it does not: the server reads nothing then, and nobody can tell for
// how long.
func (c *Connection) waitForRoom(x *request.Exchange) bool {
	if c.calls.len() == 0 || c.full() {
		return false
	}
	c.queue = slices.Insert(c.queue, 0, x)
	c.o.Waited.Note(len(c.queue))
	c.admission.inputFull = true
	if !c.admission.retryScheduled {
		c.admission.retryScheduled = true
		c.p.After(roomRetryDelay, roomRetryDue{})
	}
	return true
}

// retry tries again the call that found no room.
func (c *Connection) retry() {
	if c.admission.retryScheduled = false; c.admission.inputFull {
		c.admitQueued()
	}
}
