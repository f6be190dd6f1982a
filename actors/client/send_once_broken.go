//go:build broken_once

package client

import (
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
)

// sendOnce is broken on purpose: it sends each tool call a second time, under another id, like a
// retry of a call that may have been executed.
func (c *Connection) sendOnce(_ *request.Exchange, m jsonrpc.Message) error {
	c.p.Check()
	if err := c.up.Send(c.p.Context(), m); err != nil {
		return err
	}
	if id, err := c.fresh(); err == nil && m.Method == "tools/call" {
		_ = c.up.Send(c.p.Context(), jsonrpc.Request(id, m.Method, m.Params))
	}
	return nil
}
