package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func note(name string) jsonrpc.Message { return jsonrpc.Notification(name, nil) }

func TestBothDirectionsCarryWhatIsSent(t *testing.T) {
	client, server := Pair(4)
	if err := client.Send(t.Context(), note("up")); err != nil {
		t.Fatal(err)
	}
	if m, err := server.Recv(t.Context()); err != nil || m.Method != "up" {
		t.Errorf("got %+v, %v", m, err)
	}
	sent := transport.Inbound{
		Message: note("down"), RequestID: jsonrpc.IntID(7), Control: "control", Written: true,
	}
	if err := server.Send(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Recv(t.Context()); err != nil || got.Message.Method != "down" ||
		got.RequestID != sent.RequestID || got.Control != sent.Control || !got.Written {
		t.Errorf("got %+v, %v", got, err)
	}
	client.Negotiated(protocol.V20250618)
	if got := server.Version(); got != protocol.V20250618 {
		t.Errorf("version: got %v", got)
	}
	if got := client.Info().Transport; got != "pipe" {
		t.Errorf("transport: got %q", got)
	}
}

func TestClientNeverWaitsAndServerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := Pair(2)
		for i := range 3 {
			err := client.Send(t.Context(), note("n"))
			if want := i == 2; errors.Is(err, transport.ErrSlowConsumer) != want {
				t.Errorf("message %d: got %v", i, err)
			}
		}
		done := make(chan error)
		go func() {
			for range 3 {
				if err := server.Send(t.Context(), transport.Inbound{Message: note("n")}); err != nil {
					t.Error(err)
				}
			}
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the third message did not wait")
		default:
		}
		if _, err := client.Recv(t.Context()); err != nil {
			t.Error(err)
		}
		<-done
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := server.Send(ctx, transport.Inbound{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestServersEndArrivesAfterItsMessages(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct{ given, want error }{{nil, io.EOF}, {lost, lost}} {
		client, server := Pair(8)
		for range 5 {
			if err := server.Send(t.Context(), transport.Inbound{Message: note("n")}); err != nil {
				t.Fatal(err)
			}
		}
		server.Close(tt.given)
		server.Close(errors.New("again"))
		for i := range 5 {
			if _, err := client.Recv(t.Context()); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		for range 2 {
			if _, err := client.Recv(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		}
		if err := client.Send(t.Context(), note("n")); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("send: got %v, want %v", err, transport.ErrClosed)
		}
		if _, err := server.Recv(t.Context()); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("recv of the closed end: got %v, want %v", err, transport.ErrClosed)
		}
	}
}

func TestClientsEndArrivesAfterItsMessages(t *testing.T) {
	client, server := Pair(0)
	if err := client.Send(t.Context(), note("last")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := client.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-server.Closed()
	if m, err := server.Recv(t.Context()); err != nil || m.Method != "last" {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := server.Recv(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if _, err := client.Recv(t.Context()); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v, want %v", err, transport.ErrClosed)
	}
	if err := server.Send(t.Context(), transport.Inbound{}); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v, want %v", err, transport.ErrClosed)
	}
}

func TestCloseEndsWhoeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := Pair(1)
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := client.Recv(context.Background()); !errors.Is(err, transport.ErrClosed) {
				t.Errorf("client: got %v", err)
			}
		})
		group.Go(func() {
			if _, err := server.Recv(context.Background()); !errors.Is(err, io.EOF) {
				t.Errorf("server: got %v", err)
			}
		})
		synctest.Wait()
		client.Close(t.Context())
		group.Wait()
	})
}

// A server that must not wait gets an error when there is no space, and another when the client has
// gone.
func TestOfferNeverWaits(t *testing.T) {
	client, server := Pair(2)
	for i, want := range []error{nil, nil, transport.ErrSlowConsumer} {
		if err := server.Offer(transport.Inbound{Message: note("n")}); !errors.Is(err, want) {
			t.Errorf("message %d: got %v, want %v", i, err, want)
		}
	}
	if _, err := client.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Offer(transport.Inbound{}); err != nil {
		t.Errorf("with room: %v", err)
	}
	client.Close(t.Context())
	if err := server.Offer(transport.Inbound{}); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("after the end: got %v, want %v", err, transport.ErrClosed)
	}
}

// Messages come out in order and once, however the queue grows, wraps around and shrinks, and never
// more wait than allowed.
func TestQueueKeepsOrderAndBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		q := newQueue(limit)
		sent, received := uint64(0), uint64(0)
		for range rapid.IntRange(1, 50).Draw(t, "turns") {
			for range rapid.IntRange(0, 40).Draw(t, "sends") {
				taken := q.offer(transport.Inbound{RequestID: jsonrpc.IntID(sent)})
				if room := sent-received < uint64(limit); taken != room {
					t.Fatalf("offer with %d of %d waiting: %t", sent-received, limit, taken)
				}
				if taken {
					sent++
				}
			}
			for range rapid.IntRange(0, 40).Draw(t, "receives") {
				in, ok := q.take()
				if ok != (received < sent) || ok && in.RequestID != jsonrpc.IntID(received) {
					t.Fatalf("take with %d waiting: %v, %t, want %d", sent-received, in.RequestID, ok, received)
				}
				if ok {
					received++
				}
			}
		}
		if q.n == 0 && len(q.ring) > queueKeep {
			t.Fatalf("an empty queue keeps %d places", len(q.ring))
		}
	})
}

// Waiting senders and a slow receiver lose no message.
func TestNothingIsLostBetweenManySendersAndAReceiver(t *testing.T) {
	const senders, each = 8, 500
	client, server := Pair(3)
	var group sync.WaitGroup
	for range senders {
		group.Go(func() {
			for i := range each {
				if err := server.Send(t.Context(),
					transport.Inbound{RequestID: jsonrpc.IntID(uint64(i))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	got := map[jsonrpc.ID]int{}
	for range senders * each {
		in, err := client.Recv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got[in.RequestID]++
	}
	group.Wait()
	for id, n := range got {
		if n != senders {
			t.Errorf("%v arrived %d times, want %d", id, n, senders)
		}
	}
}

func Example() {
	client, server := Pair(0)
	ctx := context.Background()
	_ = client.Send(ctx, jsonrpc.Request(jsonrpc.IntID(1), "ping", nil))
	m, _ := server.Recv(ctx)
	_ = server.Send(ctx, transport.Inbound{Message: jsonrpc.Response(m.ID, nil)})
	in, _ := client.Recv(ctx)
	fmt.Println(string(in.Message.Append(nil)))
	// Output: {"jsonrpc":"2.0","id":1,"result":{}}
}

func BenchmarkRoundTrip(b *testing.B) {
	client, server := Pair(0)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_ = client.Send(ctx, note("n"))
		m, _ := server.Recv(ctx)
		_ = server.Send(ctx, transport.Inbound{Message: m})
		_, _ = client.Recv(ctx)
	}
}
