//go:build broken_budget

package request

import "mcpd/protocol/inflight"

// release is broken on purpose: the bytes of a cancelled exchange are never given back.
func release(x *Exchange, outcome inflight.Outcome) {
	if outcome != inflight.Cancelled {
		x.kept.Load().Release()
	}
}
