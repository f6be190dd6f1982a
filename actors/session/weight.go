package session

import (
	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Weight is what a session or peer keeps beside its record, in bytes: its actor, and what is known of
// it. docs/benchmarks.full.md has it, under "What an idle session weighs".
const Weight = 4 << 10

// size is how many bytes the session keeps.
func (h *Handle) size() int { return Weight + h.record.Load().size() }

// size is how many bytes of the client's own are in the record.
func (r *Record) size() int {
	if r == nil {
		return 0
	}
	n := len(r.Capabilities.Raw()) + len(r.Client.Raw())
	for _, u := range r.URIs {
		n += len(u.Server) + len(u.URI) + len(u.Own)
	}
	return n
}

// count begins to count the session for its tenant.
func (h *Handle) count(kept *quota.Ledger) {
	if kept != nil {
		h.counted.Store(kept.Of(h.endpoint.Tenant).Hold(quota.Sessions, h.size()))
	}
}

// account is what a tenant keeps; nil where nothing is counted.
func (i *Index) account(tenant string) *quota.Account {
	if i.kept == nil {
		return nil
	}
	return i.kept.Of(tenant)
}

// large reports whether a message counts for its tenant as soon as it is there. Smaller ones do
// once an actor has looked at them: until then their number bounds them.
func large(m jsonrpc.Message) bool {
	return m.Size() >= transport.Large
}

// room makes room for one more session or peer in what its tenant may keep, or says why there is none.
// The longest idle one of the same principal goes first: nobody else's, and no session for a peer.
func (m *Manager) room(ep streamable.Endpoint, peer bool) error {
	if m.index.kept == nil {
		return nil
	}
	kept := m.index.kept.Of(ep.Tenant)
	if kept.Fits(Weight) || m.evict(group{tenant: ep.Tenant, principal: ep.Principal, each: true, peers: peer}) {
		return nil
	}
	if full := kept.Keeps(Weight); full != nil {
		return full.Told()
	}
	return nil
}
