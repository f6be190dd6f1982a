package actor

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/session"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// client is a client of a host in the same process: its calls go in where a transport's would.
type client struct {
	*session.Handle
	ids uint64
}

// openClient opens a session on the aggregate of a tenant and completes its handshake.
func openClient(ctx context.Context, h *supervisor.Running, tenant string) (*client, error) {
	init := jsonrpc.Request(jsonrpc.IntID(1), "initialize", jsontext.Value(initializeParams))
	out := make(slot, 1)
	s, err := h.Edge().OpenPushed(ctx, streamable.Endpoint{Tenant: tenant}, init, out, func(jsonrpc.Message) error { return nil })
	if err != nil {
		return nil, err
	}
	if m := <-out; m.Error != nil {
		return nil, m.Error
	}
	return &client{s, 1}, s.Deliver(ctx, jsonrpc.Notification("notifications/initialized", nil), nil)
}

// request makes one request and waits for its outcome.
func (c *client) request(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error) {
	c.ids++
	out := make(slot, 1)
	if err := c.Deliver(ctx, jsonrpc.Request(jsonrpc.IntID(c.ids), method, params), out); err != nil {
		return nil, err
	}
	select {
	case m := <-out:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// slot takes the one outcome of a request. It has room for one.
type slot chan jsonrpc.Message

var _ transport.Sink = slot(nil)

func (s slot) Send(jsonrpc.Message) error { return nil }

func (s slot) Finish(m jsonrpc.Message) bool {
	select {
	case s <- m:
		return true
	default:
		return false
	}
}

// initializeParams are those of a client that declares nothing.
const initializeParams = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpd-bench","version":"1"}}`

// callParams call the built-in server's echo as the aggregate names it.
const callParams = `{"name":"demo__echo","arguments":{"message":"hello"}}`
