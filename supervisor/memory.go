package supervisor

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"strings"
	"sync/atomic"

	"mcpd/actors/memory"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/gateway/config"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// historyShare is the part of the memory that histories for clients that come back may fill: one in four.
const historyShare = 4

// newStore makes what keeps events for clients that read slowly or come back: for all sessions no more than this host can spare.
func (h *host) newStore(c *config.Config) *streamable.Store {
	e, o := &c.Edge, &h.options
	s := streamable.StoreOptions{
		Clock: h.awake, StreamEvents: e.StreamEvents, StreamBytes: int(e.StreamBytes), SessionBytes: int(e.History),
		TotalBytes: int(e.TotalHistory), TTL: e.HistoryTime, GETs: e.Streams,
	}
	if o.Memory > 0 {
		s.TotalBytes = int(min(o.Memory/historyShare, uint64(e.TotalHistory)))
	}
	s.Kept = func(tenant string) streamable.Account { return historiesOf{h.kept.Of(tenant)} }
	if h.state != nil {
		s.Save = func() { _ = h.core("storage").Send(storage.Collect{}) } // one that begins looks for itself
	}
	return streamable.NewStore(s)
}

// keptShare is the part of the memory that all tenants together may keep: one in two. The rest is for
// the host itself, for what is being written, and for garbage that is not collected yet, so that
// tenants at their bounds do not bring the host to refuse everybody.
const keptShare = 2

// bounds are what tenants may keep, of all kinds and of histories alone.
func (h *host) bounds(c *config.Config) quota.Bounds {
	return quota.Bounds{
		Tenants: len(c.Tenants), Total: int64(h.options.Memory / keptShare), Histories: int64(h.store.Limits().TotalBytes),
	}
}

// keepable is what all tenants together may keep, and guaranteed what each can always have; 0 is no bound.
func (h *host) keepable() int { return int(h.bounds(h.now().config).Total) }
func (h *host) guaranteed() int {
	b := h.bounds(h.now().config)
	return int(quota.Shares{Total: b.Total, Tenants: b.Tenants}.Guaranteed())
}

// windowShare is the part of the memory that a server may send of one answer over HTTP/2 before
// the answer is read: one in 4096. The answers to all the requests that a tenant has in flight by
// default so fill no more than a quarter of the memory.
const windowShare = 4096

// window is the bytes of such an answer.
func (h *host) window() int {
	if h.options.Memory == 0 {
		return streamable.MostWindow
	}
	return int(min(max(h.options.Memory/windowShare, streamable.LeastWindow), streamable.MostWindow))
}

// spare is how many bytes of emptied buffers are kept for the next large messages.
func (h *host) spare() int {
	if h.options.Memory == 0 {
		return int(transport.MaxSpare(math.MaxInt64))
	}
	return int(transport.MaxSpare(int64(h.options.Memory)))
}

// holdings is what tenants keep, for the metrics.
func (h *host) holdings() iter.Seq[telemetry.Kept] {
	return func(yield func(telemetry.Kept) bool) {
		for _, held := range h.kept.Snapshot() {
			for kind, n := range held.Kinds {
				if !yield(telemetry.Kept{Tenant: held.Tenant, Kind: quota.Kind(kind).String(), Bytes: n}) {
					return
				}
			}
		}
	}
}

// account counts one kind of what a tenant keeps.
type account struct {
	*quota.Account
	kind quota.Kind
}

// Count implements transport.Account.
func (a account) Count(n int) { a.Add(a.kind, n) }

// queuedOf counts the bytes that wait for the servers of a tenant. The request that they are of counts
// too, until its outcome.
func (h *host) queuedOf(tenant string) func(bytes int) {
	return account{h.kept.Of(tenant), quota.Outgoing}.Count
}

// unwritten is the account of a tenant's changes of the state; nil for those of the host itself.
func (h *host) unwritten(tenant string) *quota.Account {
	if tenant == "" {
		return nil
	}
	return h.kept.Of(tenant)
}

// historiesOf is the account of a tenant's histories.
type historiesOf struct{ *quota.Account }

// Keep implements streamable.Account.
func (h historiesOf) Keep(bytes int) { h.Add(quota.Histories, bytes) }

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

const (
	// bodiesShare is the part of the memory that the large requests of one tenant may fill while they
	// are read, since who sends slowly has it for long: one in 32.
	bodiesShare = 32
	// leastBodies is what a tenant has of it in any case: one request, as large as the default allows.
	leastBodies = 4 << 20
	// waitingBodies is how many large requests of a tenant may wait for it. Of each 16 KiB have come, or
	// 64 where it does not say how long it is.
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

func (h *host) memoryOptions() memory.Options {
	return memory.Options{
		Limit: h.options.Memory, Use: memory.Measured(), Collect: runtime.GC, Pace: h.options.Pace, Level: &h.memory, Relieve: h.relieve, Holdings: h.kept.Snapshot, Emit: h.recorder.Emit,
		Faults: h.faults,
	}
}

// relieve lets go of what is kept for convenience.
func (h *host) relieve(level quota.Level) {
	h.pools.closeIdle()
	if level >= quota.High {
		h.kept.DropCached()
	}
	h.index.Each(func(s *session.Handle) bool {
		s.Streams().Trim(level >= quota.High)
		return true
	})
}

// memoryCheck is what readiness says of the memory. A host that has little goes on with what it has in hand.
func (h *host) memoryCheck(tree otp.Node) admin.Check {
	c := admin.Check{Name: "memory", OK: true}
	tree.Walk(func(n otp.Node) bool {
		s, ok := n.Extra.(memory.Status)
		if !ok {
			return true
		}
		var why []string
		if s.Level > quota.Normal {
			why = append(why, fmt.Sprintf("%v: %d of %d MiB in use", s.Level, s.Use>>20, s.Limit>>20))
			if s.Most.Kept > 0 && len(s.Refused) == 0 {
				why = append(why, "most by "+s.Most.String())
			}
		}
		for _, h := range s.Refused {
			why = append(why, "refused because it keeps too much: "+h.String())
		}
		c.OK, c.Detail = len(why) == 0, strings.Join(why, "; ")
		return false
	})
	return c
}
