//go:build broken_once

package client

import (
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
)

// once is broken on purpose: it sends each call once more, under another id, as somebody does who tries again what may have been done.
func (c *Connection) once(_ *request.Exchange, m jsonrpc.Message) error {
	c.p.Check()
	if err := c.up.Send(c.p.Context(), m); err != nil {
		return err
	}
	if id, err := c.fresh(); err == nil && m.Method == "tools/call" {
		_ = c.up.Send(c.p.Context(), jsonrpc.Request(id, m.Method, m.Params))
	}
	return nil
}
