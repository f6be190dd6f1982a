package memory

import (
	"bufio"
	"net"
	"net/url"
	"os"
	"runtime"
	"syscall"
	"testing"

	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) {
	kit.RunIfRole(subject.Roles)
	os.Exit(m.Run())
}

// The measured memory of a session is plausible. The bench judges the exact value.
func TestShareOfASession(t *testing.T) {
	const n = 200
	for _, u := range []sessionUse{{}, {stream: true}, {call: true}, {detached: true}} {
		each, err := share(t.Context(), subject.Host, config, n, u)
		if err != nil {
			t.Fatalf("%+v: %v", u, err)
		}
		if each.InUse() < kib/2 || each.InUse() > 200*kib {
			t.Errorf("%+v: %v bytes each", u, each.InUse())
		}
	}
}

// The scenario fails if a session is gone: it does not count sessions that the host has dropped.
func TestSessionsThatAreGoneDoNotAnswer(t *testing.T) {
	p, err := kit.Start(t.Context(), subject.Host, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var list []*open
	if err := hold(p.URL, 20, sessionUse{detached: true}, &list); err != nil {
		t.Fatal(err)
	}
	if err := each(list, p.URL, func(o *opener, _ int, s *open) error {
		return o.ask(s)
	}); err != nil {
		t.Error(err)
	}
	if err := each(list, p.URL, func(o *opener, _ int, s *open) error {
		return o.end(s)
	}); err != nil {
		t.Error(err)
	}
	if err := each(list, p.URL, func(o *opener, _ int, s *open) error {
		return o.ask(s)
	}); err == nil {
		t.Error("sessions that were deleted answer")
	}
}

func TestBothScenariosMeasure(t *testing.T) {
	if testing.Short() || mcptest.RaceEnabled {
		t.Skip("the bench runs them, without the race detector, of which most of the memory would be")
	}
	for _, s := range Scenarios {
		r := &kit.Run{Short: true, Seed: 1, Say: t.Logf}
		if err := s.Measure(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Record.Comparisons {
			if c.Pairs != load.MinPairs {
				t.Errorf("%+v", c)
			}
			t.Logf("%s, %s: %.3f (%.3f to %.3f), gate %v: %s", c.Case, c.Name, c.Ratio, c.Low, c.High,
				c.Gate, c.Verdict)
		}
		for _, m := range r.Record.Measurements {
			t.Logf("%s, %s, %s: %.2f %s", m.Case, m.Subject, m.Quantity, m.Rounds, m.Unit)
		}
	}
}

// A crowd has more sessions than there are ports, so that further sessions connect from other
// addresses.
func TestCrowdsConnectFromSeveralAddresses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("127.0.0.2 is an address of Linux alone")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := opener{url: &url.URL{Host: l.Addr().String()}, in: bufio.NewReader(nil), made: perAddress - 1}
	for _, want := range []string{"127.0.0.1", "127.0.0.2"} {
		client, err := o.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		from := conn.RemoteAddr().(*net.TCPAddr)
		if got := from.IP.String(); got != want {
			t.Errorf("connected from %s, want %s", got, want)
		}
		if want != "127.0.0.1" {
			connectFrom(t, from.Port, l.Addr().String())
		}
	}
}

// connectFrom connects from the given port, if the system has IP_LOCAL_PORT_RANGE. That option
// chooses the port without taking it from connections to other addresses.
func connectFrom(t *testing.T, port int, to string) {
	t.Helper()
	const localPortRange = 51 // IP_LOCAL_PORT_RANGE of ip(7), since Linux 6.3
	var lacks error
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			lacks = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, localPortRange, port<<16|port)
		})
	}}
	conn, err := d.Dial("tcp", to)
	switch {
	case lacks != nil:
		t.Log(lacks)
	case err != nil:
		t.Errorf("port %d is taken from other addresses: %v", port, err)
	}
	if err == nil {
		_ = conn.Close() // the connection itself was the test
	}
}
