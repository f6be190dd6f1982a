//go:build !broken_once

package client

import "mcpd/protocol/jsonrpc"

// once sends a call. With the tag broken_once it is sent twice: experiments must find that out.
func (c *Connection) once(m jsonrpc.Message) error {
	c.p.Check()
	return c.up.Send(c.p.Context(), m)
}
