package streamable

import (
	"net"
	"syscall"
	"time"
)

// lastFiles is the number of free descriptors at which connections begin to make room for each
// other. The rest is for other uses, such as pipes of servers.
const lastFiles = 64

// shortTime is how long descriptors count as scarce after they were last scarce. It ends sooner if
// a new connection gets a low descriptor number.
const shortTime = 10 * time.Second

// measure checks the descriptor number of a new connection. It is the lowest free number, so a high
// number means that few descriptors are left.
func (c *Connections) measure(conn net.Conn) {
	if c.limit.Load() > 0 && time.Now().UnixNano()-c.shortAt.Load() > int64(shortTime) {
		c.limit.Store(0)
	}
	file, ok := conn.(syscall.Conn)
	if c.Files == 0 || !ok {
		return
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	var number int64
	_ = raw.Control(func(fd uintptr) { number = int64(fd) }) // a closed connection counts as 0
	switch {
	case number >= c.Files-lastFiles:
		c.short()
	case number < c.Files-2*lastFiles:
		c.limit.Store(0)
	}
}

// short limits the number of connections to the current number, since no descriptor is left for
// another.
func (c *Connections) short() {
	c.shortAt.Store(time.Now().UnixNano())
	now := max(c.open.Load(), 1)
	if l := c.limit.Load(); l == 0 || now < l {
		c.limit.Store(now)
	}
}

// makeRoom closes a connection in favour of one that waits to be accepted.
func (c *Connections) makeRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room(time.Now(), unauthenticatedGrace)
}
