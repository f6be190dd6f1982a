package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// The link learns the ID of an answer that does not reach the host.
func TestBridgeTellsOfAnswersThatDoNotArrive(t *testing.T) {
	b, err := newBridge("http://127.0.0.1:1", io.Discard, reconnect.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	id := jsonrpc.IntID(7)
	lost := streamable.Undelivered{ID: id, Err: errors.New("the connection broke")}
	e, ok := b.event(transport.Inbound{Control: lost})
	if !ok || e.Op != reconnect.Undelivered || e.ID != id || e.Cause != reconnect.Broken {
		t.Errorf("one whose connection broke: got %+v", e)
	}
	e, ok = b.unsent(jsonrpc.Response(id, nil), transport.ErrSlowConsumer)
	if !ok || e.Op != reconnect.Undelivered || e.ID != id || e.Cause != reconnect.Later {
		t.Errorf("one of too many: got %+v", e)
	}
}

// Requests without an outcome fail when their bridge is closed.
func TestBridgeClosesWithOutcomes(t *testing.T) {
	b, err := newBridge("http://127.0.0.1:1", io.Discard, reconnect.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := outcome{make(chan jsonrpc.Message, 2)}
	first := jsonrpc.Request(jsonrpc.IntID(1), "initialize", nil)
	if err := b.Deliver(t.Context(), first, out); err != nil {
		t.Fatal(err)
	}
	_ = b.Close(t.Context()) // There is no host.
	if m := <-out.got; m.ID != jsonrpc.IntID(1) || m.Error == nil {
		t.Errorf("got %s", m.Append(nil))
	}
	err = b.Deliver(t.Context(), jsonrpc.Request(jsonrpc.IntID(2), "tools/list", nil), out)
	if !errors.Is(err, transport.ErrClosed) {
		t.Errorf("a request after Close: got %v", err)
	}
}

// outcome is a sink that keeps the outcome.
type outcome struct{ got chan jsonrpc.Message }

func (o outcome) Send(jsonrpc.Message) error { return nil }

func (o outcome) Finish(m jsonrpc.Message) bool {
	o.got <- m
	return true
}

// A large call is not kept for a second attempt. If it lacks a header field, it fails with the
// refusal of the host.
func TestBridgeKeepsNoLargeCalls(t *testing.T) {
	e := &fakeHost{answer: func(*http.Request, jsonrpc.Message) (int, string) {
		return 400, `"error":{"code":-32020,"message":"header Mcp-Param-Region: missing"}`
	}}
	report, hear := joinFakeHost(t, e)
	report(standalone(1, "tools/call",
		fmt.Sprintf(`"name":"ask","x":%q,`, strings.Repeat("x", maxRetrySize))))
	if got := hear(); !strings.Contains(got, `"id":1,"error":{"code":-32020`) {
		t.Errorf("got %.200s", got)
	}
	if len(e.got) != 1 {
		t.Errorf("the host got %q, want the call only", e.got)
	}
}
