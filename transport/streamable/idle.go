package streamable

import (
	"net/http"
	"slices"
	"time"
)

// begin takes note of a request, and whether others may come at the same time. It reports whether
// the connection was asked to end, and gives the request up if the connection has ended already:
// its client sends it again.
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

// finish takes note that a request was answered.
func (c *connection) finish() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.changed = time.Now()
}

// waits takes note of a response that only waits for something to say, and stays so until the
// function that it returns is called.
func (c *connection) waits(o *outlet) (end func()) {
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
		c.streams = slices.DeleteFunc(c.streams, func(other *outlet) bool { return other == o })
	}
}

// shared reports whether more than one request is being answered.
func (c *connection) shared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > 1
}

// idleSince is since when all that is open on it only waits.
func (c *connection) idleSince() (since time.Time, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.open == len(c.streams)
}

func (c *connection) idle() bool {
	_, idle := c.idleSince()
	return idle
}

// leave asks a connection to end, unless it was not idle since then: what waits on it ends with a
// hint when to come back.
func (c *connection) leave(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left || c.open != len(c.streams) || !c.changed.Equal(since) {
		return false
	}
	c.left = true
	for _, o := range c.streams {
		o.parted.Store(true)
		o.signal()
	}
	if c.open == 0 {
		c.shut()
	}
	return true
}

// part ends a connection that was asked to, when the last of it is written.
func (c *connection) part() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left && c.open == 0 {
		c.shut()
	}
}
