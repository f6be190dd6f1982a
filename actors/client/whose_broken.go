//go:build broken_route

package client

import "mcpd/protocol/jsonrpc"

// whose is broken on purpose: it goes by the ids that clients have given, which are all the same, so that another call takes the reply when
// there is one.
func whose(calls map[jsonrpc.ID]*flight, id jsonrpc.ID) (*flight, bool) {
	f, ok := calls[id]
	for other, g := range calls {
		if ok && other != id {
			calls[id], calls[other] = g, f
			return g, true
		}
	}
	return f, ok
}
