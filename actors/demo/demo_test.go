package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the actor under a supervisor. It returns the client's end of the connection, and the
// tree.
func start(t *testing.T, o otp.Options) (pipe.Client, *otp.Tree) {
	t.Helper()
	client, server := pipe.Pair(0)
	system := otp.NewSystem(o)
	tree, err := system.Start(t.Context(), "test", otp.Spec{Children: []otp.Child{{
		ID: "demo", Restart: otp.Temporary, Start: otp.Worker(func() otp.Behaviour {
			return New(Options{Conn: server, Build: "1.2.3"})
		}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		system.Close()
	})
	return client, tree
}

func post(t *testing.T, c pipe.Client, text string) {
	t.Helper()
	if err := c.Send(t.Context(), decode(t, text)); err != nil {
		t.Fatal(err)
	}
}

// receive takes the next message from the server.
func receive(t *testing.T, c pipe.Client) transport.Inbound {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	in, err := c.Recv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func greet(t *testing.T, c pipe.Client) {
	t.Helper()
	post(
		t, c,
		`{"id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
	)
	if in := receive(t, c); in.Message.Kind() != jsonrpc.KindResult {
		t.Fatalf("initialize: %s", in.Message.Append(nil))
	}
	post(t, c, `{"method":"notifications/initialized"}`)
}

// A slow call takes its time and delays no other.
func TestCallsDoNotWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, otp.Options{})
		greet(t, c)
		began := time.Now()
		post(t, c, `{"id":1,"method":"tools/call","params":{"name":"test_tool_with_progress"}}`)
		post(t, c, `{"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`)
		for _, want := range []struct {
			id    uint64
			after time.Duration
		}{{2, 0}, {1, 2 * beat}} {
			in := receive(t, c)
			if got := time.Since(began); in.Message.ID != jsonrpc.IntID(want.id) || got != want.after {
				t.Errorf("answer to %s after %v, want %d after %v", in.Message.ID, got, want.id, want.after)
			}
			if in.RequestID != in.Message.ID {
				t.Errorf("answer to %s is related to %s", in.Message.ID, in.RequestID)
			}
		}
	})
}

func TestStreamIsClosedDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, otp.Options{})
		greet(t, c)
		post(t, c, `{"id":7,"method":"tools/call","params":{"name":"test_reconnection"}}`)
		in := receive(t, c)
		if want := (transport.CloseStream{Retry: 2 * beat}); in.Control != want ||
			in.RequestID != jsonrpc.IntID(7) {
			t.Errorf("got %+v, want control %v of 7", in, want)
		}
		if in = receive(t, c); in.Message.Kind() != jsonrpc.KindResult {
			t.Errorf("got %s, want the result", in.Message.Append(nil))
		}
	})
}

// The timer of a cancelled call is stopped: the call sends nothing more.
func TestCancelledCallIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, otp.Options{})
		greet(t, c)
		post(t, c, `{"id":1,"method":"tools/call","params":{"name":"test_tool_with_logging"}}`)
		receive(t, c)
		post(t, c, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
		post(t, c, `{"id":2,"method":"ping"}`)
		if in := receive(t, c); in.Message.ID != jsonrpc.IntID(2) {
			t.Errorf("got %s, want the pong", in.Message.Append(nil))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if in, err := c.Recv(ctx); err == nil {
			t.Errorf("got %s of a cancelled call", in.Message.Append(nil))
		}
	})
}

// children are the ids of the rows in the tree.
func children(t *testing.T, tree *otp.Tree) (ids []string) {
	t.Helper()
	rows, err := otp.WhichChildren(t.Context(), tree.Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

func TestServerLeavesWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tree := start(t, otp.Options{})
		greet(t, c)
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := children(t, tree); len(got) != 0 {
			t.Errorf("children = %v after the client left", got)
		}
	})
}

// S4-103: a crash drops only one connection, and its client is told at once.
func TestCrashEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := fault.New(clock.System)
		c, tree := start(t, otp.Options{Faults: faults})
		greet(t, c)
		synctest.Wait() // all of that must be handled before the crash is armed
		point := fault.Point{Path: "test/demo"}
		if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: point, Count: 1,
			Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		post(t, c, `{"id":1,"method":"ping"}`)
		_, err := c.Recv(t.Context())
		var crash *otp.CrashReport
		if !errors.As(err, &crash) {
			t.Errorf("error = %v, want a crash report", err)
		}
		synctest.Wait()
		if got := children(t, tree); len(got) != 0 {
			t.Errorf("children = %v after the crash", got)
		}
	})
}

// The other end can tell a host that stops from a server that went away.
func TestShutdownIsAnOrdinaryEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tree := start(t, otp.Options{})
		greet(t, c)
		if err := otp.TerminateChild(t.Context(), tree.Ref(), "demo"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Recv(t.Context()); !otp.IsNormal(err) {
			t.Errorf("error = %v, want an ordinary end", err)
		}
	})
}

// modern is a modern request in its encoded form.
func modern(id, method, params string) string {
	m := jsonrpc.Request(jsonrpc.StringID(id), method,
		protocol.Meta{Version: protocol.Latest.String()}.Set(jsontext.Value(params)))
	return strings.Replace(string(m.Append(nil)), `"jsonrpc":"2.0",`, "", 1)
}

// Clients with a subscription are told that the server stops, before the connection ends. Clients
// with a call are not.
func TestShutdownEndsListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tree := start(t, otp.Options{})
		if err := c.Send(t.Context(), jsonrpc.Message{}); err != nil { // an invalid message has no effect
			t.Fatal(err)
		}
		post(t, c, modern("a", "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`))
		post(t, c, modern("b", "tools/call", `{"name":"test_tool_with_progress"}`))
		if in := receive(t, c); in.Message.Method != "notifications/subscriptions/acknowledged" ||
			in.RequestID != jsonrpc.StringID("a") {
			t.Errorf("got %s on %s", in.Message.Append(nil), in.RequestID)
		}
		if err := otp.TerminateChild(t.Context(), tree.Ref(), "demo"); err != nil {
			t.Fatal(err)
		}
		if in := receive(t, c); in.Message.Kind() != jsonrpc.KindResult ||
			in.Message.ID != jsonrpc.StringID("a") {
			t.Errorf("got %s, want the result", in.Message.Append(nil))
		}
		if in := receive(t, c); in.Message.Method != "notifications/cancelled" ||
			in.RequestID != jsonrpc.StringID("a") {
			t.Errorf("got %s, want it cancelled", in.Message.Append(nil))
		}
		if _, err := c.Recv(t.Context()); !otp.IsNormal(err) {
			t.Errorf("error = %v, want an ordinary end", err)
		}
	})
}

// Without randomness there is no key, and the server does not start.
func TestServerNeedsRandomness(t *testing.T) {
	_, end := pipe.Pair(0)
	system := otp.NewSystem(otp.Options{})
	defer system.Close()
	_, err := system.Start(t.Context(), "test", otp.Spec{Children: []otp.Child{{
		ID: "demo", Restart: otp.Temporary,
		Start: otp.Worker(func() otp.Behaviour {
			return New(Options{Conn: end, Random: bytes.NewReader(nil)})
		}),
	}}})
	if !errors.Is(err, io.EOF) {
		t.Errorf("error = %v, want %v", err, io.EOF)
	}
}

// A client that sends but never reads is disconnected at the bound, so that the host's memory does
// not grow.
func TestClientThatNeverReadsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, otp.Options{})
		for i := range 3 * pipe.DefaultBuffer {
			if err := c.Send(t.Context(),
				jsonrpc.Request(jsonrpc.IntID(uint64(i)), "ping", nil)); err != nil {
				break
			}
			synctest.Wait()
		}
		for range 2 * pipe.DefaultBuffer {
			if _, err := c.Recv(t.Context()); err != nil {
				if !errors.Is(err, transport.ErrSlowConsumer) {
					t.Errorf("error = %v, want %v", err, transport.ErrSlowConsumer)
				}
				return
			}
		}
		t.Error("was not cut off")
	})
}

// Example is a first call to the demo server.
func Example() {
	core, _ := newCore("1.0", noise())
	ask := func(id uint64, method, params string) {
		for _, e := range core.Step(time.Time{},
			jsonrpc.Request(jsonrpc.IntID(id), method, jsontext.Value(params))) {
			fmt.Println(string(e.(send).message.Result))
		}
	}
	core.Step(time.Time{}, jsonrpc.Request(jsonrpc.IntID(0), "initialize",
		jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`)))
	ask(1, "tools/call", `{"name":"echo","arguments":{"message":"hello"}}`)
	// Output: {"content":[{"text":"hello","type":"text"}]}
}
