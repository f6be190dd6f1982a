package supervisor

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// connected returns the two ends of a connection to a listener with the host's options.
func connected(t *testing.T, stall time.Duration) (client, server net.Conn) {
	t.Helper()
	l, err := listenConfig(stall).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// A client that does not read, and one whose data is not read, take no more of the kernel than
// their buffers.
func TestSocketBuffersAreBounded(t *testing.T) {
	client, server := connected(t, 0)
	// The client's end has its own buffers. They are made as small as possible.
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
			t.Errorf("%d bytes %s were taken, then %v; want no more than %d", taken, name, err,
				3*socketBuffer)
		}
	}
}
