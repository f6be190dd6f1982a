//go:build !broken_route && !broken_reply

package client

import "mcpd/protocol/jsonrpc"

// callOfReply returns the call that a reply with an id of ours answers, nil for none. Built with
// the tag broken_route it may return another call, and with broken_reply none for every 1000th
// reply. Experiments and tests must detect that.
func callOfReply(calls *inflightRequests, id jsonrpc.ID) *inflightRequest { return calls.get(id) }
