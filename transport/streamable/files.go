package streamable

import (
	"net"
	"syscall"
	"time"
)

// lastFiles is how many files of a process are left when connections begin to make room for each
// other: what else is opened then, as pipes of servers, finds some.
const lastFiles = 64

// shortTime is how long files count as short after they were. It is over sooner where a new
// connection finds a low number.
const shortTime = 10 * time.Second

// measure looks at the number of the file that a new connection is. It is the lowest that is not
// in use, so a high one says that hardly any file is left.
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
	_ = raw.Control(func(fd uintptr) { number = int64(fd) }) // one that is closed is 0
	switch {
	case number >= c.Files-lastFiles:
		c.short()
	case number < c.Files-2*lastFiles:
		c.limit.Store(0)
	}
}

// short has no more connections than there are now: no file is left for another.
func (c *Connections) short() {
	c.shortAt.Store(time.Now().UnixNano())
	now := max(c.open.Load(), 1)
	if l := c.limit.Load(); l == 0 || now < l {
		c.limit.Store(now)
	}
}

// makeRoom ends a connection, for one that waits to be accepted.
func (c *Connections) makeRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room(time.Now(), newcomerTime)
}
