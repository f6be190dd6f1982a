package streamable

import (
	"net/http"
	"slices"
	"time"
)

// begin records a request, and whether the connection can have several at once. It reports whether
// the connection was asked to end. If the connection has already ended, begin aborts the request,
// and the client sends it again.
func (c *connection) begin(multiplexes bool) (left bool) {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left && c.open == 0 {
		panic(http.ErrAbortHandler)
	}
	c.open++
	c.multiplexes = multiplexes
	c.changed = time.Now()
	return c.left
}

// finish records that a request was answered.
func (c *connection) finish() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.changed = time.Now()
}

// waits registers a response that is idle until there is something to send. The returned function
// unregisters it.
func (c *connection) waits(o *streamResponse) (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = append(c.streams, o)
	c.changed = time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams = slices.DeleteFunc(c.streams, func(other *streamResponse) bool { return other == o })
	}
}

// shared reports whether more than one request is being answered.
func (c *connection) shared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > 1
}

// idleSince returns the time since which all open responses have been idle, and whether they are.
func (c *connection) idleSince() (since time.Time, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.open == len(c.streams)
}

func (c *connection) idle() bool {
	_, idle := c.idleSince()
	return idle
}

// askToClose asks a connection to end, unless it was used after since. Idle streams on it end after
// telling the client when to reconnect.
func (c *connection) askToClose(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left || c.open != len(c.streams) || !c.changed.Equal(since) {
		return false
	}
	c.left = true
	for _, o := range c.streams {
		o.evicted.Store(true)
		o.signal()
	}
	if c.open == 0 {
		c.closeNow()
	}
	return true
}

// closeIfAsked closes a connection that was asked to end, after its last answer is written.
func (c *connection) closeIfAsked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left && c.open == 0 {
		c.closeNow()
	}
}
