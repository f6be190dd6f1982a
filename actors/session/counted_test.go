package session_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Large messages are charged to their tenant while they wait for a busy actor, and for its
// successor, and no longer.
func TestLargeMessagesCountWhileTheyWait(t *testing.T) {
	kept := quota.NewLedger(nil)
	(&actors{index: session.NewIndex(kept), limit: 10}).perform(t, func(a *actors) {
		h := a.ready()
		before := kept.Account("acme").Holding().Kinds[quota.Requests]
		if _, err := a.deliver(h, "hold"); err != nil {
			a.T.Fatal(err)
		}
		large := jsontext.Value(`{"pad":"` + strings.Repeat("x", transport.Large) + `"}`)
		want, waiting := before, []*testrig.Sink{}
		for range 3 {
			out := &testrig.Sink{}
			if err := h.Deliver(a.T.Context(), jsonrpc.Request(jsonrpc.IntID(1), "ping", large),
				out); err != nil {
				a.T.Fatal(err)
			}
			waiting = append(waiting, out)
			want += int64(len(large))
			if got := kept.Account("acme").Holding().Kinds[quota.Requests]; got != want {
				a.T.Errorf("%d bytes count, want %d", got, want)
			}
		}
		close(a.hold) // it crashes, and the next actor gets them
		for _, out := range waiting {
			out.Outcome()
		}
		a.WaitIdle()
		if got := kept.Account("acme").Holding().Kinds[quota.Requests]; got != before {
			a.T.Errorf("%d bytes count in the end, want %d", got, before)
		}
		if err := h.Close(a.T.Context()); err != nil {
			a.T.Fatal(err)
		}
		out := &testrig.Sink{}
		if err := h.Deliver(a.T.Context(), jsonrpc.Request(jsonrpc.IntID(1), "ping", large),
			out); err == nil {
			a.T.Error("a session that has ended takes a message")
		}
		a.WaitIdle()
		if got := kept.Account("acme").Total(); got != 0 {
			a.T.Errorf("%d bytes count for a message that nobody took", got)
		}
	})
}
