package supervisor

import (
	"net"
	"syscall"
	"time"
)

// socketBuffer is what the kernel keeps for a connection of a client, each way. It would grow to megabytes for one that does not read, or
// sends what nobody waits for, and what it has for all connections is one sum: a thousand of such clients would take it from everybody.
const socketBuffer = 256 << 10

// unheardTime is how long what was sent may go without a sign that it has arrived. Probes of keepAlive do not end a connection that something was
// sent on, and streams are sent a comment every 15 s: without this the kernel sends it again for a quarter of an hour. Both are over within 45 s.
const unheardTime = 25 * second

// socket makes the listener of clients. What is set here, the connections that it accepts inherit. A client that reads nothing counts as one
// that is not heard of, so that it may be silent for as long as stall in any case.
func socket(stall time.Duration) *net.ListenConfig {
	config := &net.ListenConfig{KeepAliveConfig: keepAlive, Control: func(_, _ string, c syscall.RawConn) error {
		return options(c, stall)
	}}
	config.SetMultipathTCP(false) // such sockets have no filters, see streamable.DropHandshakes
	return config
}

// options sets those of a listening socket.
func options(c syscall.RawConn, stall time.Duration) (err error) {
	failed := c.Control(func(fd uintptr) {
		for _, way := range []int{syscall.SO_SNDBUF, syscall.SO_RCVBUF} {
			if err == nil {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, way, socketBuffer)
			}
		}
		if err == nil {
			err = giveUpAfter(int(fd), max(unheardTime, stall))
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// shared reports whether another process of the same user may listen on the same port.
func shared(c syscall.RawConn) (shared bool) {
	_ = c.Control(func(fd uintptr) {
		v, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, reusePort)
		shared = err == nil && v != 0
	})
	return shared
}
