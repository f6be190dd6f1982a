//go:build broken_route

package client

import "mcpd/protocol/jsonrpc"

// callOfReply is broken on purpose: it matches by the ids that clients have given, which are all
// the same, so that another call takes the reply when there is one.
func callOfReply(calls *inflightRequests, id jsonrpc.ID) *inflightRequest {
	f := calls.get(id)
	for other, g := range calls.all() {
		if f != nil && other != id {
			calls.put(id, g)
			calls.put(other, f)
			return g
		}
	}
	return f
}
