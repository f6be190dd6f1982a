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

// Client is a client of a host in the same process. Its messages enter the host in place of a
// transport's. It is used by one goroutine.
type Client struct {
	*session.Handle
	ids uint64
}

// Initialize opens a session with the aggregate of a tenant. It returns when initialize has been
// answered.
func Initialize(ctx context.Context, h *supervisor.Running, tenant string,
	params jsontext.Value) (*Client, error) {
	c, out := &Client{ids: 1}, NewSlot()
	var err error
	if c.Handle, err = h.Edge().OpenPushed(ctx, streamable.Endpoint{Tenant: tenant},
		jsonrpc.Request(jsonrpc.IntID(1), "initialize", params), out,
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
func (c *Client) Ask(ctx context.Context, method string,
	params jsontext.Value) (jsontext.Value, error) {
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

// Slot receives the outcome of one request. Its capacity is one.
type Slot chan jsonrpc.Message

var _ transport.Sink = Slot(nil)

// NewSlot returns an empty Slot.
func NewSlot() Slot { return make(Slot, 1) }

// Send implements transport.Sink. It ignores messages before the outcome.
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

// Wait waits for the outcome. It returns the result, the error that was answered, or an error if
// ctx ends first.
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
