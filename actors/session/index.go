package session

import (
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

	mu        sync.Mutex // guards perTenant
	perTenant map[string]int
}

// NewIndex makes an empty index.
func NewIndex() *Index { return &Index{perTenant: map[string]int{}} }

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

// Each calls f for every session until it returns false.
func (x *Index) Each(f func(*Handle) bool) {
	x.byID.Range(func(_, v any) bool { return f(v.(*Handle)) })
}

func (x *Index) add(h *Handle) {
	x.byID.Store(h.id, h)
	if h.peer != nil {
		x.peers.Store(*h.peer, h)
	}
	x.total.Add(1)
	x.mu.Lock()
	x.perTenant[h.endpoint.Tenant]++
	x.mu.Unlock()
}

// remove reports whether the session was there.
func (x *Index) remove(h *Handle) bool {
	if _, ok := x.byID.LoadAndDelete(h.id); !ok {
		return false
	}
	if h.peer != nil {
		x.peers.CompareAndDelete(*h.peer, h)
	}
	x.total.Add(-1)
	x.mu.Lock()
	if x.perTenant[h.endpoint.Tenant]--; x.perTenant[h.endpoint.Tenant] == 0 {
		delete(x.perTenant, h.endpoint.Tenant)
	}
	x.mu.Unlock()
	return true
}
