package supervisor

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// refuseHandshakes has the kernel drop what begins a connection to the socket: a client tries again
// after a second, and is refused then. Closing the socket would reset the connections that nobody
// has accepted yet, which their clients may have sent a request on. Errors are of no consequence:
// then it is as it would be without.
func refuseHandshakes(l net.Listener) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(drop)), Filter: &drop[0]})
	})
}
