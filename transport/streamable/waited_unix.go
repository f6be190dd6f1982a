//go:build unix

package streamable

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// waited reports whether somebody waits to be accepted. The kernel refuses a file also when there is nobody who needs it.
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
	_ = raw.Control(func(fd uintptr) { // one that is closed is for Accept to tell
		n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return n > 0
}

// arriving reports whether something has come over a connection that nobody has read yet. It may be
// called while somebody reads.
func arriving(conn net.Conn) (arriving bool) {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // one that is closed has nothing
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		arriving = err == nil && n > 0
	})
	return arriving
}
