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

// share returns a tenant's byte budget for unread answers. 0 means no bound.
func (h *host) share() int {
	if h.options.Memory == 0 {
		return 0
	}
	return int(max(h.options.Memory/tenantShare, leastShare))
}

// rooms are the byte budgets for large messages of one tenant.
type rooms struct {
	answers, // of servers, until clients have read them
	bodies *transport.Room // of clients, while they are being read
	beyond atomic.Bool // one of the bodies is read beyond the tenant's share
}

// roomsOf returns the byte budgets of a tenant. They are unbounded if the memory has no limit.
func (h *host) roomsOf(tenant string) *rooms {
	if h.options.Memory == 0 {
		return &rooms{}
	}
	if r, ok := h.rooms.Load(tenant); ok {
		return r.(*rooms)
	}
	r, _ := h.rooms.LoadOrStore(tenant, &rooms{
		answers: transport.Counted(h.share(), account{h.kept.Of(tenant), quota.Answers}),
		bodies:  transport.Queue(h.ownBodies(), waitingBodies),
	})
	return r.(*rooms)
}

// answersOf returns the byte budget for the answers of a tenant's servers until clients have read
// them, nil if it has no bound.
func (h *host) answersOf(tenant string) *transport.Room {
	if h.options.Memory == 0 {
		return nil
	}
	return h.roomsOf(tenant).answers
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

// ownBodies returns how many bytes the large requests of one tenant may take while they are being
// read. 0 means no bound.
func (h *host) ownBodies() int {
	if h.options.Memory == 0 {
		return 0
	}
	return int(max(h.options.Memory/bodiesShare, leastBodies))
}

// bodiesOf returns the byte budget for large requests of a tenant that are being read.
func (h *host) bodiesOf(ep streamable.Endpoint) *transport.Room {
	return h.roomsOf(ep.Tenant).bodies
}

// reserveBody counts more bytes of a large request against what its tenant keeps, while the request
// is being read. If there is no room, release is nil, and full is the reason or, for a repeated
// attempt (again), empty.
func (h *host) reserveBody(ep streamable.Endpoint, had, more int, again bool) (release func(),
	full string) {
	kept := h.kept.Of(ep.Tenant)
	if r := kept.TryMore(quota.Requests, had, more); r != nil {
		return r.Release, ""
	}
	if again {
		return nil, ""
	}
	if why := kept.Keeps(more); why != nil {
		return nil, why.Told().Message
	}
	return kept.Hold(quota.Requests, more).Release, "" // there is room now
}

// beyondRoom counts bytes of the one large request of a tenant that is read beyond the tenant's
// share. For the first bytes it returns nil if another request is already read beyond the share.
func (h *host) beyondRoom(ep streamable.Endpoint, n int, first bool) (release func()) {
	rooms := h.roomsOf(ep.Tenant)
	if first && !rooms.beyond.CompareAndSwap(false, true) {
		return nil
	}
	r := h.kept.Of(ep.Tenant).Hold(quota.Requests, n)
	return func() {
		if r.Release(); first {
			rooms.beyond.Store(false)
		}
	}
}
