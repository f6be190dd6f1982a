package supervisor

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// F42: connections of clients give up in time what nobody acknowledges, also where a client may be slow for longer. That streams end by it,
// chaos.TestHalfOpenClientsAreLetGo shows.
func TestUnheardClientsAreGivenUp(t *testing.T) {
	for stall, want := range map[time.Duration]time.Duration{10 * time.Second: unheardTime, 2 * time.Minute: 2 * time.Minute} {
		_, server := connected(t, stall)
		raw, err := server.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if failed := raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout) }); failed != nil || err != nil {
			t.Fatal(failed, err)
		}
		if time.Duration(got)*time.Millisecond != want {
			t.Errorf("stall %s: %d ms, want %s", stall, got, want)
		}
	}
}
