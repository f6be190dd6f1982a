package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// pricedServer answers each request of its one connection with the same bytes, without allocations.
// Each request arrives in one piece.
func pricedServer(t testing.TB, answer string) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer, out := make([]byte, 4<<10), []byte(answer)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				return
			}
			if !bytes.HasSuffix(buffer[:n], []byte("}")) {
				t.Errorf("a request came in pieces: %q", buffer[:n])
				return
			}
			if _, err := conn.Write(out); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	return "http://" + l.Addr().String() + "/mcp"
}

// asker sends the same request to a server repeatedly.
type asker struct {
	client  *Client
	request jsonrpc.Message
}

func newAsker(t testing.TB) *asker {
	const body = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`
	c, err := NewClient(ClientOptions{URL: pricedServer(t, fmt.Sprintf("HTTP/1.1 200 OK\r\n"+
		"Content-Type: application/json\r\nMcp-Session-Id: 0123456789abcdef\r\nDate: Sat, 28 Nov 2026 "+
		"10:00:00 GMT\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Leave() // the server does not accept DELETE
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c.Negotiated(protocol.V20251125)
	params := []byte(`{"name":"echo","arguments":{"text":"hello"}}`)
	return &asker{c, jsonrpc.Request(jsonrpc.IntID(1), "tools/call", params)}
}

// ask sends the request, waits for its answer, and until all goroutines of it have finished.
func (a *asker) ask(t testing.TB) {
	if err := a.client.Send(t.Context(), a.request); err != nil {
		t.Fatal(err)
	}
	in, err := a.client.Recv(t.Context())
	if err != nil || in.Err != nil || len(in.Message.Result) == 0 {
		t.Fatalf("got %+v: %v", in, err)
	}
	for len(a.client.posts) > 0 {
		runtime.Gosched()
	}
}

// An exchange over an idle connection, with its own goroutine, makes at most so many objects and
// bytes. Lower these limits when the numbers improve.
func TestPriceOfAnExchange(t *testing.T) {
	if mcptest.RaceEnabled {
		t.Skip("the race detector has pools drop what they hold")
	}
	const most, mostBytes = 4, 580
	a := newAsker(t)
	if objects, bytes := price(func() { a.ask(t) }); objects > most || bytes > mostBytes {
		t.Errorf("%d objects and %d bytes, at most %d and %d", objects, bytes, most, mostBytes)
	}
}

// BenchmarkExchange measures an exchange with a server over an idle connection.
func BenchmarkExchange(b *testing.B) {
	a := newAsker(b)
	b.ReportAllocs()
	for b.Loop() {
		a.ask(b)
	}
}
