package supervisor

import (
	"errors"
	"net"
	"testing"
	"time"
)

// accepted returns the results of a gate's Accept, in order.
func accepted(t *testing.T, g *gate) <-chan error {
	t.Helper()
	results := make(chan error, 10)
	go func() { // ends with the gate
		for {
			conn, err := g.Accept()
			results <- err
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return results
}

// A gate that is shut leaves connections waiting, and accepts them when it opens again.
func TestGateIsShutForAWhile(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: socket}
	results := accepted(t, g)
	dial := func() {
		t.Helper()
		c, err := net.Dial("tcp", socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	dial()
	if err := <-results; err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g.shut(true)
		g.shut(true)
		through := 0
		for waits := false; !waits; {
			dial() // accepted by the kernel
			select {
			case <-results:
				if through++; through > 1 { // a connection that was being accepted may pass
					t.Fatal("a gate that is shut accepts")
				}
			case <-time.After(50 * time.Millisecond):
				waits = true
			}
		}
		g.shut(false)
		g.shut(false)
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	for _, shut := range []bool{true, false} {
		g.shut(shut)
	}
	g.shut(true)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	g.shut(true) // no effect after Close
	if err := <-results; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v from a gate that is closed", err)
	}
}
