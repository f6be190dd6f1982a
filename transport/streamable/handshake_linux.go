package streamable

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// DropHandshakes has the kernel drop what begins a connection to the socket: a client tries again
// after a second, and is refused then. Closing the socket would reset the connections that nobody
// has accepted yet, which their clients may have sent a request on. Errors are of no consequence:
// then it is as it would be without.
func DropHandshakes(l net.Listener) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	// A filter of a TCP socket sees segments from their own header on. Those with SYN are dropped, and
	// handshakes that have begun end as usual.
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
