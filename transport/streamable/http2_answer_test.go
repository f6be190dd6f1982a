package streamable

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// HTTP/2 answers that wait for room stay at their server, except for one window each. They arrive
// when there is room.
func TestAnswersThatWaitOverHTTP2(t *testing.T) {
	const answers, size = 16, 3 << 20
	var sent, streams atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, _ := jsonedit.Get(body, "id")
		if r.ProtoMajor == 2 {
			streams.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"`, id)
		part := []byte(strings.Repeat("x", 16<<10))
		for range size / len(part) {
			n, _ := w.Write(part)
			sent.Add(int64(n))
		}
		fmt.Fprint(w, `"}`)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	budget := transport.NewByteBudget(2 * size)
	budget.Add(2 * size)
	way := NewTransportVia(nil, Route{Roots: roots})
	t.Cleanup(way.CloseIdleConnections)
	c, err := NewClient(ClientOptions{URL: server.URL, Transport: way, Room: budget})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(answers) {
		if err := c.Send(t.Context(), jsonrpc.Request(jsonrpc.IntID(n+1), "ping", nil)); err != nil {
			t.Fatal(err)
		}
	}
	for last := int64(-1); last != sent.Load() ||
		streams.Load() < answers; time.Sleep(500 * time.Millisecond) {
		last = sent.Load()
	}
	// For each answer that is being read without room yet: the window, and the buffer of its server.
	// The socket buffers count once.
	const each, sockets = 2*transport.Large + MinWindow + 32<<10, 8 << 20
	if got := sent.Load(); got > answers*each+sockets {
		t.Errorf("%d KiB of %d answers have come, want %d at most", got>>10, answers,
			(answers*each+sockets)>>10)
	} else {
		t.Logf("%d KiB of %d answers have come", got>>10, answers)
	}
	budget.Add(-2 * size)
	for range answers {
		in, err := c.Recv(t.Context())
		if err != nil || in.Err != nil || len(in.Message.Result) < size {
			t.Fatalf("got %d bytes, %v, %v", len(in.Message.Result), in.Err, err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
