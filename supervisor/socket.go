package supervisor

import (
	"net"
	"syscall"
)

// socketBuffer is what the kernel keeps for a connection of a client, each way. It would grow to megabytes for one that does not read, or
// sends what nobody waits for, and what it has for all connections is one sum: a thousand of such clients would take it from everybody.
const socketBuffer = 256 << 10

// socket makes the listener of clients. What is set here, the connections that it accepts inherit.
var socket = net.ListenConfig{KeepAliveConfig: keepAlive, Control: func(_, _ string, c syscall.RawConn) (err error) {
	failed := c.Control(func(fd uintptr) {
		for _, way := range []int{syscall.SO_SNDBUF, syscall.SO_RCVBUF} {
			if err == nil {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, way, socketBuffer)
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}}
