package session

import (
	"fmt"
	"time"

	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// admit makes room for one more session or peer, or says why there is none.
func (m *Manager) admit(ep streamable.Endpoint, peer bool) error {
	if peer {
		return m.admitPeer(ep)
	}
	if most := m.o.OfPrincipal(ep.Tenant); most > 0 && m.index.Principal(ep) >= most {
		return protocol.RateLimited(time.Minute)
	}
	if m.index.Tenant(ep.Tenant) >= m.o.Limit(ep.Tenant) || m.index.Len() >= m.o.Total() {
		if !m.evict(group{tenant: ep.Tenant}) {
			return protocol.Overloaded("tenant "+ep.Tenant, time.Minute)
		}
	}
	return nil
}

// admitPeer is admit for a peer.
func (m *Manager) admitPeer(ep streamable.Endpoint) error {
	if m.o.Limit(ep.Tenant) == 0 {
		return streamable.ErrNoSession // its tenant is not configured any more
	}
	if m.index.Peers(ep) >= MaxPeers && !m.evict(group{ep.Tenant, ep.Principal, true, true}) {
		return protocol.Full(true, "peers", ep.Tenant, ep.Principal, fmt.Sprintf(
			"%s of tenant %s has requests of %d kinds of clients in flight, as many as it may", ep.Principal, ep.Tenant, MaxPeers,
		), barren)
	}
	return nil
}
