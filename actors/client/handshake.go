package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// ask is a request that the host itself made.
type ask struct {
	then  func(result jsontext.Value, err *jsonrpc.Error) error
	timer otp.Timer
}

// dialled starts the handshake: from here on there is somebody to talk to.
func (c *Connection) dialled(up transport.Upstream) error {
	c.up = up
	c.publish(nil, nil)
	ask := protocol.InitializeParams{
		Version: protocol.LatestLegacy.String(), Capabilities: c.o.Declare.Shape(protocol.LatestLegacy), Info: c.o.Self,
	}
	return c.request("initialize", ask.Params(), 0, c.initialized)
}

// initialized takes the server's answer to the handshake. A server that speaks no revision of ours ends the connection for good.
func (c *Connection) initialized(result jsontext.Value, e *jsonrpc.Error) error {
	if e != nil {
		return fmt.Errorf("initialize refused: %w", e)
	}
	init, err := protocol.ParseInitializeResult(result)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	v, err := protocol.Negotiation{}.Accept(init.Version)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	c.facts = Facts{Version: v, Capabilities: init.Capabilities, Server: init.Info, Instructions: init.Instructions}
	c.up.Negotiated(v)
	c.send(jsonrpc.Notification("notifications/initialized", nil))
	for _, k := range catalog.Kinds() {
		if c.facts.offers(k) {
			c.fetch(k)
		} else {
			c.learn(k, nil)
		}
	}
	return c.maybeReady()
}

// maybeReady restores what clients had asked for and opens the connection to calls, once every list is known.
func (c *Connection) maybeReady() error {
	if c.fetching > 0 || c.state == Ready {
		return nil
	}
	c.restore()
	c.state, c.listed = Ready, true
	c.report()
	c.tellReady()
	c.lostAt, c.cause = time.Time{}, nil
	queue := c.queue
	c.queue = nil
	for _, x := range queue {
		c.forward(x)
	}
	c.maybeLinger()
	return nil
}

// request asks the server something on the host's own behalf. With no timeout it is bounded by the start timeout.
func (c *Connection) request(method string, params jsontext.Value, timeout time.Duration, then func(jsontext.Value, *jsonrpc.Error) error) error {
	id, err := c.fresh()
	if err != nil {
		return err
	}
	if timeout == 0 {
		timeout = c.o.StartTimeout
	}
	c.asked[id] = ask{then: then, timer: c.p.After(timeout, askExpired{id})}
	if err := c.up.Send(c.p.Context(), jsonrpc.Request(id, method, params)); err != nil && !errors.Is(err, transport.ErrClosed) {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// askExpired gives up on one thing the host asked. Only the handshake is worth a connection.
func (c *Connection) askExpired(id jsonrpc.ID) error {
	a, ok := c.asked[id]
	if !ok {
		return nil
	}
	delete(c.asked, id)
	c.send(jsonrpc.Notification("notifications/cancelled", cancelled(id, "timeout")))
	return a.then(nil, protocol.Translate(protocol.Timeout(c.o.RequestTimeout), c.facts.Version))
}
