package streamable

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Frame types of HTTP/2 (RFC 9113 §6) that these tests abuse.
const (
	headersFrame      = 0x1
	settingsFrame     = 0x4
	pingFrame         = 0x6
	continuationFrame = 0x9
)

// frame returns a frame in wire form: its length in 3 bytes, type, flags, stream, payload.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// flood is one way to abuse a connection.
type flood struct {
	first, again []byte
	// endless says that the server tolerates the flood for as long as the client continues: it costs
	// only the time to read it, and no memory.
	endless bool
}

// F45: the connection of a client that abuses HTTP/2 is closed when its memory limit is reached or
// too many of its answers are unread. Other clients are still served.
func TestAbuseOfHTTP2EndsTheConnection(t *testing.T) {
	cert, key, pool := certificate(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") })
	address := start(t, ServerOptions{Handler: h, Certificate: loaded(t, cert, key)},
		func(s *http.Server) {
			remember := s.ConnContext
			s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
				_ = c.(*connection).raw.(*net.TCPConn).SetWriteBuffer(4 << 10) // unread data fills it soon
				return remember(ctx, c)
			}
		})
	others := &http.Client{
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer others.CloseIdleConnections()
	// A field that is neither indexed nor compressed (RFC 7541 §6.2.2): one name, and a value that
	// fills the frame.
	field := append([]byte{0x00, 0x01, 'x', 0x7f, 0x81, 0x7e}, make([]byte, 16256)...)
	for name, f := range map[string]flood{
		"a header without an end": {frame(headersFrame, 0, 1, field),
			frame(continuationFrame, 0, 1, field), false},
		"continuations of nothing": {frame(headersFrame, 0, 1, nil),
			frame(continuationFrame, 0, 1, nil), true},
		"pings whose answers nobody reads": {nil, frame(pingFrame, 0, 0, make([]byte, 8)), false},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// With a smaller buffer, some kernels lose the window update that comes with data, and the
			// connection is merely silent.
			_ = conn.NetConn().(*net.TCPConn).SetReadBuffer(64 << 10)
			conn.SetWriteDeadline(time.Now().Add(time.Minute))
			_, err = conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
				append(frame(settingsFrame, 0, 0, nil), f.first...)...))
			many := bytes.Repeat(f.again, 1+(32<<10)/len(f.again))
			const enough = 16 << 20 // more than the buffers in between hold
			taken := 0
			for err == nil && taken < enough {
				var n int
				n, err = conn.Write(many)
				taken += n
			}
			if ended := err != nil && !errors.Is(err, os.ErrDeadlineExceeded); ended == f.endless {
				t.Errorf("after %d bytes: %v, want the end of the connection: %t", taken, err, !f.endless)
			}
			resp, err := others.Get("https://" + address)
			if err != nil {
				t.Fatal(err)
			}
			if got := content(t, resp); got != "here" {
				t.Errorf("another client got %q", got)
			}
		})
	}
}

// F45: HTTP/2 requires TLS unless H2C is set. A client that uses it without TLS is refused after
// its first line.
func TestHTTP2NeedsTLS(t *testing.T) {
	address := start(t, ServerOptions{Handler: http.NotFoundHandler()}, func(*http.Server) {})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		frame(settingsFrame, 0, 0, nil)...)); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	got, err := io.ReadAll(conn)
	if len(got) < 12 || string(got[:9]) != "HTTP/1.1 " || got[9] != '4' && got[9] != '5' {
		t.Errorf("got %q, %v, want a refusal of HTTP/1.1 and the end", got, err)
	}
}

// A client that half-closes its connection while it waits counts as gone. It gets no answer, rather
// than an empty one that looks like success.
func TestHalfClosedRequestIsNotAnsweredEmpty(t *testing.T) {
	host := newTestHost(t)
	begun, release := make(chan struct{}), make(chan struct{})
	host.scripts["waits"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		close(begun)
		<-release
		out.Finish(jsonrpc.Response(m.ID, m.Params))
	}
	s := serve(t, host, Options{})
	defer close(release)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := postHead + "Host: localhost\nMcp-Session-Id: " + s.session(protocol.V20251125) + "\n"
	fmt.Fprint(conn, strings.ReplaceAll(withBody(head, `{"jsonrpc":"2.0","id":1,"method":"waits"}`),
		"\n", "\r\n"))
	<-begun
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); len(got) > 0 || err != nil {
		t.Errorf("got %q, %v; want the end alone", got, err)
	}
}
