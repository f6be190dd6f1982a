package supervisor

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// A client that reads nothing, and one that sends what nobody reads, cost the kernel no more than their buffers.
func TestSocketBuffersAreBounded(t *testing.T) {
	l, err := socket(0).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	// The other end has buffers of its own; these are made as small as they can be.
	_, _ = client.(*net.TCPConn).SetReadBuffer(1), client.(*net.TCPConn).SetWriteBuffer(1)
	for name, from := range map[string]net.Conn{"to a client": server, "from a client": client} {
		taken, err := 0, error(nil)
		for err == nil && taken <= 64*socketBuffer {
			from.SetWriteDeadline(time.Now().Add(time.Second))
			var n int
			n, err = from.Write(make([]byte, 16<<10))
			taken += n
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || taken > 3*socketBuffer {
			t.Errorf("%d bytes %s were taken, then %v; want no more than %d", taken, name, err, 3*socketBuffer)
		}
	}
}
