package supervisor

import (
	"sync/atomic"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// tenantShare is the part of the memory that the answers of one tenant may fill which its clients
// have not read: one in eight.
const tenantShare = 8

// leastShare is what a tenant has in any case: a message of a server, and of a client several.
const leastShare = protocol.MaxUpstreamMessage

// share is the bytes that are a tenant's of either; 0 is no bound.
func (h *host) share() int {
	if h.options.Memory == 0 {
		return 0
	}
	return int(max(h.options.Memory/tenantShare, leastShare))
}

// rooms are where what is large and belongs to one tenant is, until somebody else has it.
type rooms struct {
	answers, // of servers, until clients have read them
	bodies *transport.Room // of clients, until they are read
	beyond atomic.Bool // one of them is read without room in what the tenant may keep
}

// roomsOf is a tenant's rooms, which have no bound where the memory has none.
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

// answersOf is where the answers of a tenant's servers are until clients have read them; nil has no
// bound.
func (h *host) answersOf(tenant string) *transport.Room {
	if h.options.Memory == 0 {
		return nil
	}
	return h.roomsOf(tenant).answers
}

const (
	// bodiesShare is the part of the memory that the large requests of one tenant may fill while they
	// are read, since who sends slowly has it for long: one in 32.
	bodiesShare = 32
	// leastBodies is what a tenant has of it in any case: one request, as large as the default allows.
	leastBodies = 4 << 20
	// waitingBodies is how many large requests of a tenant may wait for it. Of each 16 KiB have
	// come, or 64 where it does not say how long it is.
	waitingBodies = 64
)

// ownBodies is what of it is one tenant's, in bytes; 0 is no bound.
func (h *host) ownBodies() int {
	if h.options.Memory == 0 {
		return 0
	}
	return int(max(h.options.Memory/bodiesShare, leastBodies))
}

// bodiesOf is where the large requests of a tenant are while they are read.
func (h *host) bodiesOf(ep streamable.Endpoint) *transport.Room { return h.roomsOf(ep.Tenant).bodies }

// reserveBody counts more bytes of a large request for its tenant while it is read.
func (h *host) reserveBody(ep streamable.Endpoint, had, more int, again bool) (release func(), full string) {
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
	return kept.Hold(quota.Requests, more).Release, "" // there is room since
}

// beyondRoom counts bytes of the one large request of a tenant that is read without room.
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
