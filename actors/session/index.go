package session

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/gateway/quota"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// Index maps session ids to handles. The manager writes it, one change at a time. Transports read
// it without asking the manager, so that no request of a tenant waits for another tenant's. The
// Index outlives the manager's incarnations.
type Index struct {
	// Down is the reason why a tenant is down, and nil while it runs; a nil Down means that tenants
	// always run. Ending is the reason why the host accepts no new calls, and nil while it does; a nil
	// Ending means that it always does. Self is how the host identifies itself. All three are set
	// before the index is used.
	Down   func(tenant string) *protocol.Error
	Ending func() *protocol.Error
	Self   protocol.Implementation

	byID      sync.Map // string -> *Handle, for sessions and peers
	peers     sync.Map // peerKey -> *Handle
	total     atomic.Int64
	lastHeard atomic.Int64 // when a client last sent a message, in nanoseconds of clock.SteadyNanos
	ends      endings

	kept *quota.Ledger // quotas of the tenants; nil counts nothing

	mu       sync.Mutex // guards held and Handle.told
	holdings holdings
}

// NewIndex makes an empty index. It charges sessions and peers to their tenants' quotas in kept.
func NewIndex(kept *quota.Ledger) *Index { return &Index{kept: kept, holdings: holdings{}} }

// Get finds a session by its secret id.
func (x *Index) Get(id string) (*Handle, bool) {
	v, ok := x.byID.Load(id)
	if !ok {
		return nil, false
	}
	return v.(*Handle), true
}

// Peer finds the session of a peer.
func (x *Index) Peer(ep streamable.Endpoint, p Peer) (*Handle, bool) {
	v, ok := x.peers.Load(p.key(ep))
	if !ok {
		return nil, false
	}
	return v.(*Handle), true
}

// Len returns the number of sessions, without peers.
func (x *Index) Len() int { return int(x.total.Load()) }

// Tenant returns the number of sessions of a tenant, without peers.
func (x *Index) Tenant(t string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if held := x.holdings[t]; held != nil {
		return held.sessions
	}
	return 0
}

// tenants returns the numbers of sessions of all tenants.
func (x *Index) tenants() sessionCounts {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(sessionCounts, len(x.holdings))
	for name, t := range x.holdings {
		all[name] = t.sessions
	}
	return all
}

// principals returns the numbers of sessions of all principals of a tenant.
func (x *Index) principals(tenant string) sessionCounts {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := sessionCounts{}
	if t := x.holdings[tenant]; t != nil {
		for name, p := range t.principals {
			all[name] = len(p.sessions.all)
		}
	}
	return all
}

// Principal returns the number of sessions that the principal of an endpoint has in its tenant, at
// this endpoint and at others.
func (x *Index) Principal(ep streamable.Endpoint) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.holdings.of(ep); p != nil {
		return len(p.sessions.all)
	}
	return 0
}

// Channels reports whether the principal of an endpoint has a session over HTTP+SSE there.
func (x *Index) Channels(ep streamable.Endpoint) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.holdings.of(ep)
	if p == nil {
		return false
	}
	for h := range p.sessions.all {
		if h.endpoint == ep && h.streams != nil && h.streams.Channel() && !h.closed.Load() {
			return true
		}
	}
	return false
}

// Peers returns the number of peers that the principal of an endpoint has in its tenant, at this
// endpoint and at others.
func (x *Index) Peers(ep streamable.Endpoint) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.holdings.of(ep); p != nil {
		return len(p.peers.all)
	}
	return 0
}

// Count returns the number of sessions and peers of a tenant.
func (x *Index) Count(tenant string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if held := x.holdings[tenant]; held != nil {
		for _, p := range held.principals {
			n += len(p.sessions.all) + len(p.peers.all)
		}
	}
	return n
}

// GrantSet returns the set of capabilities that servers are told of on behalf of h, if its client
// declares f. The set is f itself unless the principal has too many sets, and always a subset of f.
func (h *Handle) GrantSet(f protocol.Fingerprint) protocol.Fingerprint {
	h.index.mu.Lock()
	defer h.index.mu.Unlock()
	return h.index.holdings.grant(h, f, h.since())
}

// since returns the current time on the clock by which sets are remembered.
func (h *Handle) since() time.Duration { return time.Duration(clock.SteadyNanos(h.clock.Now())) }

// Each calls f for every session and peer until f returns false.
func (x *Index) Each(f func(*Handle) bool) {
	x.byID.Range(func(_, v any) bool { return f(v.(*Handle)) })
}

// Sorted lists the sessions and peers for which such returns true, sorted by row.
func (x *Index) Sorted(match func(*Handle) bool) (list []*Handle) {
	x.Each(func(h *Handle) bool {
		if match(h) {
			list = append(list, h)
		}
		return true
	})
	slices.SortFunc(list, func(a, b *Handle) int { return strings.Compare(a.row, b.row) })
	return list
}

func (x *Index) add(h *Handle) {
	h.count(x.kept)
	x.byID.Store(h.id, h)
	if h.peer != nil {
		x.peers.Store(*h.peer, h)
	} else {
		x.total.Add(1)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.holdings.add(h)
}

// remove deletes the session, and reports whether it was there.
func (x *Index) remove(h *Handle) bool {
	if !x.byID.CompareAndDelete(h.id, h) {
		return false
	}
	h.reservation.Load().Release()
	if h.peer != nil {
		x.peers.CompareAndDelete(*h.peer, h)
	} else {
		x.total.Add(-1)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.holdings.remove(h, h.since())
	return true
}
