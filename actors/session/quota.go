package session

import (
	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// OverheadBytes is the memory of a session or peer in bytes, in addition to its record: its actor
// and its handle. The measurement is in docs/benchmarks.full.md, under "What an idle session
// weighs".
const OverheadBytes = 4 << 10

// size returns the number of bytes that the session keeps.
func (h *Handle) size() int { return OverheadBytes + h.record.Load().size() }

// size returns the number of bytes in the record that come from the client.
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

// count charges the session to its tenant's quota.
func (h *Handle) count(kept *quota.Ledger) {
	if kept != nil {
		h.reservation.Store(kept.Account(h.endpoint.Tenant).Count(quota.Sessions, h.size()))
	}
}

// account returns the quota account of a tenant; nil where nothing is counted.
func (i *Index) account(tenant string) *quota.Account {
	if i.kept == nil {
		return nil
	}
	return i.kept.Account(tenant)
}

// large reports whether a message is charged to its tenant as soon as it arrives. Smaller messages
// are charged once an actor has looked at them. Until then their number is bounded.
func large(m jsonrpc.Message) bool {
	return m.Size() >= transport.Large
}

// admitBytes makes room for one more session or peer in its tenant's memory quota, or returns the
// reason why there is none. It evicts only the longest idle session of the same principal, and for
// a peer only a peer.
func (m *Manager) admitBytes(ep streamable.Endpoint, peer bool) error {
	if m.index.kept == nil {
		return nil
	}
	account := m.index.kept.Account(ep.Tenant)
	if account.Fits(OverheadBytes) ||
		m.evict(group{tenant: ep.Tenant, principal: ep.Principal, each: true,
			peers: peer}) {
		return nil
	}
	if full := account.CheckKeep(OverheadBytes); full != nil {
		return full.ClientError()
	}
	return nil
}
