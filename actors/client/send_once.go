//go:build !broken_once

package client

import (
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// sendOnce sends a call, on the goroutine of its client where that is possible. Built with the tag
// broken_once, it sends the call twice: experiments must detect that.
func (c *Connection) sendOnce(x *request.Exchange, m jsonrpc.Message) error {
	c.p.Check()
	by, lends := x.Sink.(transport.Lender)
	if up, borrows := c.up.(transport.Borrower); lends && borrows {
		return up.SendBy(c.p.Context(), m, by)
	}
	return c.up.Send(c.p.Context(), m)
}
