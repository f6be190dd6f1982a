package main

import (
	"errors"
	"io"
	"testing"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// An answer that does not reach the host is told to the link by its id.
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
