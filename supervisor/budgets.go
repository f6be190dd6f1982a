package supervisor

import (
	"sync/atomic"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// tenantShare is the part of the memory that one tenant's unread answers may fill: one in eight.
const tenantShare = 8

// leastShare is the byte budget that a tenant always has: one message of a server, or several of a
// client.
const leastShare = protocol.MaxUpstreamMessage

// answerShare returns a tenant's byte budget for unread answers. 0 means no bound.
func (h *host) answerShare() int {
	if h.options.Memory == 0 {
		return 0
	}
	return int(max(h.options.Memory/tenantShare, leastShare))
}

// budgets are the byte budgets for large messages of one tenant.
type budgets struct {
	answers, // of servers, until clients have read them
	bodies *transport.ByteBudget // of clients, while they are being read
	beyond atomic.Bool // one of the bodies is read beyond the tenant's share
}

// budgetsOf returns the byte budgets of a tenant. They are unbounded if the memory has no limit.
func (h *host) budgetsOf(tenant string) *budgets {
	if h.options.Memory == 0 {
		return &budgets{}
	}
	if r, ok := h.budgets.Load(tenant); ok {
		return r.(*budgets)
	}
	r, _ := h.budgets.LoadOrStore(tenant, &budgets{
		answers: transport.NewOwnedBudget(h.answerShare(), account{
			h.ledger.Account(tenant), quota.Answers,
		}),
		bodies: transport.NewQueuedBudget(h.bodyShare(), waitingBodies),
	})
	return r.(*budgets)
}

// answerBudget returns the byte budget for the answers of a tenant's servers until clients have
// read them, nil if it has no bound.
func (h *host) answerBudget(tenant string) *transport.ByteBudget {
	if h.options.Memory == 0 {
		return nil
	}
	return h.budgetsOf(tenant).answers
}

const (
	// bodiesShare is the part of the memory that the large requests of one tenant may fill while they
	// are being read: one in 32. Slow senders occupy this memory for long.
	bodiesShare = 32
	// leastBodies is the least such memory of a tenant, in bytes: one request of the default maximum
	// size.
	leastBodies = 4 << 20
	// waitingBodies is how many large requests of a tenant may wait for such memory. Of each, 16 KiB
	// have been read, or 64 KiB if it does not declare its length.
	waitingBodies = 64
)

// bodyShare returns how many bytes the large requests of one tenant may take while they are being
// read. 0 means no bound.
func (h *host) bodyShare() int {
	if h.options.Memory == 0 {
		return 0
	}
	return int(max(h.options.Memory/bodiesShare, leastBodies))
}

// bodyBudget returns the byte budget for large requests of a tenant that are being read.
func (h *host) bodyBudget(ep streamable.Endpoint) *transport.ByteBudget {
	return h.budgetsOf(ep.Tenant).bodies
}

// reserveBody counts more bytes of a large request against what its tenant keeps, while the request
// is being read. If there is no room, release is nil, and full is the reason or, for a repeated
// attempt (again), empty.
func (h *host) reserveBody(ep streamable.Endpoint, had, more int, again bool) (release func(),
	full string) {
	account := h.ledger.Account(ep.Tenant)
	if r := account.TryReserveMore(quota.Requests, had, more); r != nil {
		return r.Release, ""
	}
	if again {
		return nil, ""
	}
	if refusal := account.CheckKeep(more); refusal != nil {
		return nil, refusal.ClientError().Message
	}
	return account.Count(quota.Requests, more).Release, "" // there is room now
}

// reserveBeyond counts bytes of the one large request of a tenant that is read beyond the tenant's
// share. For the first bytes it returns nil if another request is already read beyond the share.
func (h *host) reserveBeyond(ep streamable.Endpoint, n int, first bool) (release func()) {
	rooms := h.budgetsOf(ep.Tenant)
	if first && !rooms.beyond.CompareAndSwap(false, true) {
		return nil
	}
	r := h.ledger.Account(ep.Tenant).Count(quota.Requests, n)
	return func() {
		if r.Release(); first {
			rooms.beyond.Store(false)
		}
	}
}
