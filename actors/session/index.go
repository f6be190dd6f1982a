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

// Index maps session ids to handles. The manager writes it, one change at a time; transports read it without asking the manager, so
// that no request of any tenant waits for another's. It is the manager's heir.
type Index struct {
	// Down says why a tenant does not run, and nil while it does; nil is for tenants that always run.
	// Ending says why the host takes no new calls, and nil while it does; nil is for one that always
	// takes them. Self is who the host says it is. All are set before the index is used.
	Down   func(tenant string) *protocol.Error
	Ending func() *protocol.Error
	Self   protocol.Implementation

	byID  sync.Map // string -> *Handle; sessions and peers
	peers sync.Map // peerKey -> *Handle
	total atomic.Int64
	heard atomic.Int64 // when a client last sent a message, in nanoseconds of clock.Steady
	ends  endings

	kept *quota.Ledger // of what tenants keep; nil counts nothing

	mu   sync.Mutex // guards what follows, and Handle.told
	held holdings
}

// NewIndex makes an empty index, which counts what sessions and peers keep for their tenants.
func NewIndex(kept *quota.Ledger) *Index { return &Index{kept: kept, held: holdings{}} }

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

// Len is how many sessions there are. Peers are none.
func (x *Index) Len() int { return int(x.total.Load()) }

// Tenant is how many of them a tenant has.
func (x *Index) Tenant(t string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if held := x.held[t]; held != nil {
		return held.sessions
	}
	return 0
}

// tenants are how many sessions each tenant has.
func (x *Index) tenants() claims {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(claims, len(x.held))
	for name, t := range x.held {
		all[name] = t.sessions
	}
	return all
}

// principals are how many sessions each principal of a tenant has.
func (x *Index) principals(tenant string) claims {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := claims{}
	if t := x.held[tenant]; t != nil {
		for name, p := range t.principals {
			all[name] = len(p.sessions.all)
		}
	}
	return all
}

// Principal is how many sessions who is at an endpoint has in its tenant, there and elsewhere.
func (x *Index) Principal(ep streamable.Endpoint) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.held.of(ep); p != nil {
		return len(p.sessions.all)
	}
	return 0
}

// Channels reports whether who is at an endpoint has a session over HTTP+SSE there.
func (x *Index) Channels(ep streamable.Endpoint) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.held.of(ep)
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

// Peers is how many peers who is at an endpoint has in its tenant, there and elsewhere.
func (x *Index) Peers(ep streamable.Endpoint) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.held.of(ep); p != nil {
		return len(p.peers.all)
	}
	return 0
}

// Holds is how many sessions and peers a tenant has.
func (x *Index) Holds(tenant string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if held := x.held[tenant]; held != nil {
		for _, p := range held.principals {
			n += len(p.sessions.all) + len(p.peers.all)
		}
	}
	return n
}

// Tell is the set of capabilities that servers are told of on behalf of a session or peer whose
// client declares f: f itself unless its principal has too many sets, and never more than f.
func (h *Handle) Tell(f protocol.Fingerprint) protocol.Fingerprint {
	h.index.mu.Lock()
	defer h.index.mu.Unlock()
	return h.index.held.tell(h, f, h.since())
}

// since is the time by which sets are remembered.
func (h *Handle) since() time.Duration { return time.Duration(clock.Steady(h.clock.Now())) }

// Each calls f for every session until it returns false.
func (x *Index) Each(f func(*Handle) bool) {
	x.byID.Range(func(_, v any) bool { return f(v.(*Handle)) })
}

// InOrder are the sessions that are such, by their rows.
func (x *Index) InOrder(such func(*Handle) bool) (list []*Handle) {
	x.Each(func(h *Handle) bool {
		if such(h) {
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
	x.held.add(h)
}

// remove reports whether the session was there.
func (x *Index) remove(h *Handle) bool {
	if !x.byID.CompareAndDelete(h.id, h) {
		return false
	}
	h.counted.Load().Release()
	if h.peer != nil {
		x.peers.CompareAndDelete(*h.peer, h)
	} else {
		x.total.Add(-1)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held.remove(h, h.since())
	return true
}
