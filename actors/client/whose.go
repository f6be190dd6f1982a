//go:build !broken_route && !broken_reply

package client

import "mcpd/protocol/jsonrpc"

// whose is the call that a reply with an id of ours answers, nil for none. With the tag broken_route
// it may be another call, and with broken_reply there is none for every 1000th reply: experiments and
// tests must find that out.
func whose(calls *flights, id jsonrpc.ID) *flight { return calls.get(id) }
