package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// ask is a request of the host itself.
type ask struct {
	then    func(result jsontext.Value, err error) error
	timer   otp.Timer
	timeout time.Duration
}

// request asks the server something on the host's own behalf. A timeout of 0 is none: the caller
// then has another way to end the request. After an error nothing was asked, and the function then
// is not called.
func (c *Connection) request(method string, params jsontext.Value, timeout time.Duration,
	then func(jsontext.Value, error) error) error {
	_, err := c.ask(method, params, timeout, then)
	return err
}

// ask is like request, and returns the request's id.
func (c *Connection) ask(
	method string, params jsontext.Value, timeout time.Duration,
	then func(jsontext.Value, error) error,
) (jsonrpc.ID, error) {
	id, err := c.fresh()
	if err != nil {
		return id, err
	}
	if c.facts.Version.Has(protocol.PerRequestMeta) {
		params = protocol.Meta{Version: c.facts.Version.String(), Capabilities: c.declared(),
			Info: c.o.Self}.Set(params)
	}
	a := ask{then: then, timeout: timeout}
	if timeout > 0 {
		a.timer = c.p.After(timeout, askExpired{id})
	}
	c.asked[id] = a
	c.p.Check()
	if err := c.up.Send(c.p.Context(), jsonrpc.Request(id, method, params)); err != nil &&
		!errors.Is(err, transport.ErrClosed) {
		delete(c.asked, id)
		a.timer.Stop()
		return id, fmt.Errorf("%s: %w", method, err)
	}
	c.watch()
	return id, nil
}

// askExpired gives up on one request of the host.
func (c *Connection) askExpired(id jsonrpc.ID) error {
	a, ok := c.asked[id]
	if !ok {
		return nil
	}
	delete(c.asked, id)
	c.send(jsonrpc.Notification("notifications/cancelled", cancelled(id, "timeout")))
	return a.then(nil, protocol.Timeout(a.timeout))
}
