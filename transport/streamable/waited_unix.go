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
