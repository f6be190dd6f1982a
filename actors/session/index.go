package session

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcpd/transport/streamable"
)

// Index maps session ids to handles. The manager writes it, one change at a time; transports read it without asking the manager, so
// that no request of any tenant waits for another's. It is the manager's heir.
type Index struct {
	byID  sync.Map // string -> *Handle
	peers sync.Map // peerKey -> *Handle
	total atomic.Int64
	ends  endings

	mu           sync.Mutex // guards the rest
	perTenant    map[string]int
	perPrincipal map[streamable.Endpoint]int // of a tenant, whatever the server
}

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{perTenant: map[string]int{}, perPrincipal: map[streamable.Endpoint]int{}}
}

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

// Len is how many sessions there are.
func (x *Index) Len() int { return int(x.total.Load()) }

// Tenant is how many of them a tenant has.
func (x *Index) Tenant(t string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.perTenant[t]
}

// Principal is how many of a tenant's sessions who is at an endpoint has, there and elsewhere.
func (x *Index) Principal(ep streamable.Endpoint) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.perPrincipal[whose(ep)]
}

// count counts a session, or one less.
func (x *Index) count(ep streamable.Endpoint, more int) {
	x.total.Add(int64(more))
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.perTenant[ep.Tenant] += more; x.perTenant[ep.Tenant] == 0 {
		delete(x.perTenant, ep.Tenant)
	}
	who := whose(ep)
	if x.perPrincipal[who] += more; x.perPrincipal[who] == 0 {
		delete(x.perPrincipal, who)
	}
}

// whose is who is at an endpoint, wherever that is.
func whose(ep streamable.Endpoint) streamable.Endpoint {
	ep.Server = ""
	return ep
}

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
	x.byID.Store(h.id, h)
	if h.peer != nil {
		x.peers.Store(*h.peer, h)
	}
	x.count(h.endpoint, 1)
}

// remove reports whether the session was there.
func (x *Index) remove(h *Handle) bool {
	if _, ok := x.byID.LoadAndDelete(h.id); !ok {
		return false
	}
	if h.peer != nil {
		x.peers.CompareAndDelete(*h.peer, h)
	}
	x.count(h.endpoint, -1)
	return true
}
