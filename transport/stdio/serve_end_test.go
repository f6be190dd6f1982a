package stdio

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

func TestServeReportsAClientThatHasGone(t *testing.T) {
	broken := errors.New("broken pipe")
	in, feed := io.Pipe()
	go feed.Write([]byte(initialize + "\n"))
	d := newFakeHandler(protocol.V20251125)
	if err := Serve(t.Context(), in, failingWriter{broken}, d); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if !d.closed {
		t.Error("the session was not closed")
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize, `{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		c.read(t)
		synctest.Wait()
		c.stop()
		if err := <-c.result; !errors.Is(err, context.Canceled) || !d.closed {
			t.Errorf("got %v, session closed: %v", err, d.closed)
		}
		if d.finish("1"); d.push(jsonrpc.Notification("n", nil)) == nil {
			t.Error("a push after the end was taken")
		}
	})
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }
