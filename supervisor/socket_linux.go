package supervisor

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall has no name for (RFC 5482, tcp(7)).
const tcpUserTimeout = 0x12

// reusePort is SO_REUSEPORT, which package syscall has a name for on some machines only.
const reusePort = 0xf

// giveUpAfter ends connections on which something that was sent is not acknowledged for so long.
func giveUpAfter(fd int, d time.Duration) error {
	return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
}
