package stdio

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

func TestServeReportsAClientThatHasGone(t *testing.T) {
	broken := errors.New("broken pipe")
	in, feed := io.Pipe()
	go feed.Write([]byte(initialize + "\n"))
	d := newDesk(protocol.V20251125)
	if err := Serve(t.Context(), in, failing{broken}, d); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if !d.closed {
		t.Error("the session was not closed")
	}
}

func TestServeBoundsTheExchangesOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize)
		c.read(t)
		for id := 1; id <= protocol.MaxPendingPerSession+1; id++ {
			c.send(string(jsonrpc.Request(jsonrpc.IntID(uint64(id)), "slow", nil).Append(nil)))
		}
		if got := c.read(t); !strings.Contains(got, `"id":257,`) || !strings.Contains(got, "overloaded") {
			t.Errorf("got %s", got)
		}
	})
}
