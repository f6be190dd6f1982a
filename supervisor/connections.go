package supervisor

import (
	"net/netip"
	"syscall"

	"mcpd/gateway/quota"
	"mcpd/telemetry/admin"
	"mcpd/transport/streamable"
)

// reserved descriptors are for what is not a client: servers, the admin listener, files.
const reserved = 128

// maxFiles is how many files the process may have open. 0 is no bound.
func maxFiles() int64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > 1<<32 {
		return 0
	}
	return int64(files.Cur)
}

// maxConnections is how many clients may be connected: as many as the process may have files open, less what it needs itself. 0 is no bound.
func maxConnections() int64 {
	files := maxFiles()
	if files == 0 {
		return 0
	}
	return max(files-reserved, 1)
}

const (
	// unknownShare is the part of the memory that connections without an authenticated request may
	// take: one in eight. A connection authenticates within milliseconds, so these few are enough
	// for a host that is well, and the rest of the memory is for work.
	unknownShare = 8
	// ownUnknown is the part of it that those of one address may take.
	ownUnknown = 2
	// leastUnknown is what there is for them in any case, in bytes: some 500 connections.
	leastUnknown = 8 << 20
	// usualUnknown is what there is for them on a host whose memory has no bound.
	usualUnknown = 256 << 20
)

// unknownBytes is what connections without an authenticated request may take; 0 is no bound.
func (h *host) unknownBytes() int {
	if h.options.Memory == 0 {
		return usualUnknown
	}
	return int(max(h.options.Memory/unknownShare, leastUnknown))
}

// addressBytes is what those of one address may take.
func (h *host) addressBytes() int { return h.unknownBytes() / ownUnknown }

// newConnections are those of the listener. A trusted proxy has as many as its clients need.
func (h *host) newConnections(trusted func() []netip.Prefix) *streamable.Connections {
	return &streamable.Connections{
		Max: maxConnections(), Files: maxFiles(), PerAddress: h.now().config.Edge.AddressConnections,
		Group:   func(a netip.Addr) (netip.Prefix, bool) { return quota.Network(a), !among(trusted(), a) },
		Proxied: func(a netip.Addr) bool { return h.now().config.ProxyProtocol && among(trusted(), a) },
		Unknown: int64(h.unknownBytes()), UnknownOf: int64(h.addressBytes()),
		Divide: func(total int64) streamable.Division {
			return quota.Shares{Total: total, Tenants: len(h.now().config.Tenants)}
		},
		Refused: h.disconnected,
	}
}

// tenantPart is what each of so many tenants always has, of what there is for all clients.
func tenantPart(all int64, tenants int) int64 {
	return quota.Shares{Total: streamable.ForTenants(all), Tenants: tenants}.Guaranteed()
}

// connectionsCheck is what readiness says of the connections: who has those that others need.
func (h *host) connectionsCheck() admin.Check {
	c := admin.Check{Name: "connections", OK: true}
	if connections := h.connections.Load(); connections != nil {
		c.Detail = connections.Pressure()
		c.OK = c.Detail == ""
	}
	return c
}
