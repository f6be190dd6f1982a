//go:build unix

package streamable

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// waited reports whether a client waits to be accepted. The kernel reports a lack of descriptors
// even if none waits.
func waited(l net.Listener) bool {
	s, ok := l.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	_ = raw.Control(func(fd uintptr) { // Accept reports a closed listener
		n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return n > 0
}

// arriving reports whether a connection has input that was not read yet. It may be called during a
// read.
func arriving(conn net.Conn) (arriving bool) {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // a closed connection has no input
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		arriving = err == nil && n > 0
	})
	return arriving
}
