package supervisor

import (
	"net"
	"syscall"
	"time"
)

// socketBuffer is the kernel's buffer for a client connection, in bytes each way. Without it, the
// kernel would grow the buffer to megabytes for a client that does not read, or that sends data
// nobody waits for. All connections share the kernel's memory, so a thousand such clients would
// take it from all others.
const socketBuffer = 256 << 10

// ackTimeout is how long sent data may stay without an acknowledgement. Probes of keepAlive do not
// end a connection with unacknowledged data, and streams get a comment every 15 s. Without this
// bound the kernel would retransmit for a quarter of an hour. With it, such connections too end
// within 45 s.
const ackTimeout = 25 * second

// listenConfig makes the listener for clients. Accepted connections inherit its options. A client
// that does not read looks like one that is gone, so the bound is at least stall.
func listenConfig(stall time.Duration) *net.ListenConfig {
	config := &net.ListenConfig{KeepAliveConfig: keepAlive,
		Control: func(_, _ string, c syscall.RawConn) error {
			return setOptions(c, stall)
		}}
	config.SetMultipathTCP(false) // such sockets have no filters, see streamable.DropHandshakes
	return config
}

// setOptions sets the options of a listening socket.
func setOptions(c syscall.RawConn, stall time.Duration) (err error) {
	failed := c.Control(func(fd uintptr) {
		for _, way := range []int{syscall.SO_SNDBUF, syscall.SO_RCVBUF} {
			if err == nil {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, way, socketBuffer)
			}
		}
		if err == nil {
			err = setAckTimeout(int(fd), max(ackTimeout, stall))
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// reusesPort reports whether another process of the same user may listen on the same port.
func reusesPort(c syscall.RawConn) (shared bool) {
	_ = c.Control(func(fd uintptr) {
		v, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, reusePort)
		shared = err == nil && v != 0
	})
	return shared
}
