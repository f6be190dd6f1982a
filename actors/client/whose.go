//go:build !broken_route && !broken_reply

package client

import "mcpd/protocol/jsonrpc"

// whose returns the call that a reply with an id of ours answers, nil for none. Built with the tag
// broken_route it may return another call, and with broken_reply none for every 1000th reply.
// Experiments and tests must detect that.
func whose(calls *flights, id jsonrpc.ID) *flight { return calls.get(id) }
