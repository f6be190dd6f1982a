//go:build broken_reply

package client

import "mcpd/protocol/jsonrpc"

// whose is broken on purpose: the reply to every 1000th call of a connection is dropped.
func whose(calls *flights, id jsonrpc.ID) *flight {
	if n, ok := id.Int(); ok && n%1000 == 0 {
		return nil
	}
	return calls.get(id)
}
