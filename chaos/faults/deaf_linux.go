package faults

import (
	"net"

	"golang.org/x/sys/unix"
)

// deafen has the kernel silently drop everything that arrives for a connection, so that nothing is
// acknowledged. With deaf false it removes that filter again.
func deafen(conn *net.TCPConn, deaf bool) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		if !deaf {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
			return
		}
		nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
			Len: 1, Filter: &nothing,
		})
	})
	if failed != nil {
		return failed
	}
	return err
}
