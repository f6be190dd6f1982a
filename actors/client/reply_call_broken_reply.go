//go:build broken_reply

package client

import "mcpd/protocol/jsonrpc"

// callOfReply is broken on purpose: the reply to every 1000th call of a connection is dropped.
func callOfReply(calls *inflightRequests, id jsonrpc.ID) *inflightRequest {
	if n, ok := id.Int(); ok && n%1000 == 0 {
		return nil
	}
	return calls.get(id)
}
