package supervisor

import (
	"context"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// open returns a socket made with the host's options, or with SO_REUSEPORT, and a file of it for
// another process.
func open(t *testing.T, reuse bool) (net.Listener, *os.File) {
	t.Helper()
	config := listenConfig(time.Second)
	if reuse {
		config = &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
			})
		}}
	}
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Close(), f.Close() })
	return l, f
}

// A socket that the process was given is used for its address. A client that connected before there
// was a listener is served.
func TestGivenSocketIsTaken(t *testing.T) {
	l, f := open(t, false)
	address := l.Addr().String()
	_ = l.Close()
	waiting, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("refused while the socket is handed over: %v", err)
	}
	defer waiting.Close()
	_, port, _ := net.SplitHostPort(address)
	for _, at := range []string{address, "127.0.0.1:0", "localhost:" + port} {
		o := &handover{given: Sockets{Files: []*os.File{f}}}
		taken, err := o.take(at, time.Second)
		if err != nil || taken == nil || taken.Addr().String() != address {
			t.Fatalf("%s: got %v, %v", at, taken, err)
		}
		_ = taken.Close()
	}
	o := &handover{given: Sockets{Files: []*os.File{f}}}
	taken, _ := o.take(address, time.Second)
	conn, err := taken.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Close(), taken.Close()
	if taken, err := o.take(address, time.Second); taken != nil || err != nil {
		t.Errorf("taken twice: got %v, %v, want none", taken, err)
	}
	o.taken = nil
	for _, at := range []string{"127.0.0.1:1", "127.0.0.2:" + port, "[::]:" + port, ":" + port} {
		if taken, err := o.take(at, time.Second); taken != nil || err != nil {
			t.Errorf("%s: got %v, %v, want none", at, taken, err)
		}
	}
	o.given.Activated = true
	if _, err := o.take("127.0.0.1:1", time.Second); err == nil ||
		!strings.Contains(err.Error(), "service manager") {
		t.Errorf("sockets of a service manager that the configuration does not name: got %v", err)
	}
}

// SO_REUSEPORT lets any process of the same user listen on the port and collect keys. It is never
// set, and a given socket that has it is refused.
func TestNoPortIsShared(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		l, f := open(t, reuse)
		raw, err := l.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if reusesPort(raw) != reuse {
			t.Errorf("a socket with SO_REUSEPORT %t: found %t", reuse, !reuse)
		}
		o := &handover{given: Sockets{Files: []*os.File{f}}}
		taken, err := o.take(l.Addr().String(), time.Second)
		if (err != nil) != reuse || (taken == nil) != reuse {
			t.Errorf("a socket with SO_REUSEPORT %t: got %v, %v", reuse, taken, err)
		}
		if taken != nil {
			_ = taken.Close()
		}
	}
}

// A host that no other host replaces leaves no socket open.
func TestSocketsAreLeftOnDemand(t *testing.T) {
	for _, wants := range []bool{false, true} {
		l, f := open(t, false)
		o := &handover{wants: wants, given: Sockets{Files: []*os.File{f}}}
		o.bound()
		if err := o.keep(l); err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if (err == nil) != wants {
			t.Errorf("wants %t: after the end, a client gets %v", wants, err)
		}
		if err == nil {
			_ = conn.Close()
		}
		h := &host{}
		h.handover.wants, h.handover.next = wants, o.next
		if left := (&Running{h: h}).Sockets(); (len(left.Files) == 1) != wants {
			t.Errorf("wants %t: left %v", wants, left)
		}
		for _, f := range o.next {
			_ = f.Close()
		}
	}
	h := &host{}
	h.handover.given = Sockets{Activated: true, Files: []*os.File{os.Stdin}}
	if left := (&Running{h: h}).Sockets(); len(left.Files) > 0 {
		t.Error("a host that a service manager has started is started again, and was told to stop")
	}
}

// A host that was told to stop is not replaced, in whichever order it was told.
func TestHostThatStopsIsNotReplaced(t *testing.T) {
	for _, first := range []bool{false, true} {
		r := &Running{h: &host{}}
		o := &r.h.handover
		if first {
			o.stop()
		}
		if goes := o.replace(); goes == first {
			t.Errorf("told to stop first: %t, replaced: %t", first, goes)
		}
		if o.stop(); r.Sockets().Replace {
			t.Errorf("told to stop first: %t, another process takes its place", first)
		}
	}
}
