//go:build broken_reply

package client

import (
	"sync/atomic"

	"mcpd/protocol/jsonrpc"
)

// replies counts the replies of all connections.
var replies atomic.Uint64

// whose is broken on purpose: every 1000th reply to a call is dropped.
func whose(calls *flights, id jsonrpc.ID) *flight {
	f := calls.get(id)
	if f != nil && replies.Add(1)%1000 == 0 {
		return nil
	}
	return f
}
