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
	sent := transport.Inbound{Message: note("down"), Related: jsonrpc.IntID(7), Control: "control", Written: true}
	if err := server.Send(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Recv(t.Context()); err != nil || got.Message.Method != "down" || got.Related != sent.Related || got.Control != sent.Control || !got.Written {
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
