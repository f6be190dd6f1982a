package supervisor

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// F42: client connections give up in time when sent data is not acknowledged, also if a client may
// be slow for longer. chaos.TestHalfOpenClientsAreLetGo shows that streams end by it.
func TestUnheardClientsAreGivenUp(t *testing.T) {
	for stall, want := range map[time.Duration]time.Duration{10 * time.Second: ackTimeout,
		2 * time.Minute: 2 * time.Minute} {
		_, server := connected(t, stall)
		raw, err := server.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if failed := raw.Control(func(fd uintptr) {
			got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
		}); failed != nil || err != nil {
			t.Fatal(failed, err)
		}
		if time.Duration(got)*time.Millisecond != want {
			t.Errorf("stall %s: %d ms, want %s", stall, got, want)
		}
	}
}
