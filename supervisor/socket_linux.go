package supervisor

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, for which package syscall has no name (RFC 5482, tcp(7)).
const tcpUserTimeout = 0x12

// reusePort is SO_REUSEPORT, for which package syscall has a name on some machines only.
const reusePort = 0xf

// setAckTimeout ends connections on which sent data is not acknowledged within d.
func setAckTimeout(fd int, d time.Duration) error {
	return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
}
