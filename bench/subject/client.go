package subject

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

// Client is a client of a host in the same process: its messages go in where a transport's would. It is used by one goroutine.
type Client struct {
	*session.Handle
	ids uint64
}

// Initialize opens a session on the aggregate of a tenant, up to the answer of initialize.
func Initialize(ctx context.Context, h *supervisor.Running, tenant string, params jsontext.Value) (*Client, error) {
	c, out := &Client{ids: 1}, NewSlot()
	var err error
	if c.Handle, err = h.Edge().OpenPushed(ctx, streamable.Endpoint{Tenant: tenant}, jsonrpc.Request(jsonrpc.IntID(1), "initialize", params), out,
		func(jsonrpc.Message) error { return nil }); err != nil {
		return nil, err
	}
	_, err = out.Wait(ctx)
	return c, err
}

// Confirm tells the host that the session may be used.
func (c *Client) Confirm(ctx context.Context) error {
	return c.Deliver(ctx, jsonrpc.Notification("notifications/initialized", nil), nil)
}

// Ask makes one request and waits for its outcome.
func (c *Client) Ask(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error) {
	c.ids++
	out := NewSlot()
	if err := c.Deliver(ctx, jsonrpc.Request(jsonrpc.IntID(c.ids), method, params), out); err != nil {
		return nil, err
	}
	result, err := out.Wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return result, nil
}

// Slot takes the one outcome of a request. It has room for one.
type Slot chan jsonrpc.Message

var _ transport.Sink = Slot(nil)

// NewSlot is an empty one.
func NewSlot() Slot { return make(Slot, 1) }

// Send implements transport.Sink. What comes before the outcome is of no interest.
func (s Slot) Send(jsonrpc.Message) error { return nil }

// Finish implements transport.Sink.
func (s Slot) Finish(m jsonrpc.Message) bool {
	select {
	case s <- m:
		return true
	default:
		return false
	}
}

// Wait waits for the outcome: a result, or the error that was answered, or that of a context which ended before.
func (s Slot) Wait(ctx context.Context) (jsontext.Value, error) {
	select {
	case m := <-s:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("nothing came: %w", ctx.Err())
	}
}
