package streamable

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// DropHandshakes makes the kernel drop new connection attempts to the socket: the client retries
// after a second, and is then refused. Closing the socket instead would reset connections that are
// not yet accepted, on which clients may already have sent a request. Errors are ignored: then new
// attempts are simply not dropped.
func DropHandshakes(l net.Listener) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	// A filter on a TCP socket sees segments from the TCP header on. This one drops those with SYN;
	// handshakes in progress complete normally.
	const flags, syn = 13, 0x02
	drop := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(drop)), Filter: &drop[0]})
	})
}
