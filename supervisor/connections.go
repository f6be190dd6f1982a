package supervisor

import (
	"net/netip"
	"syscall"

	"mcpd/gateway/quota"
	"mcpd/telemetry/admin"
	"mcpd/transport/streamable"
)

// reserved is how many file descriptors are kept for other uses than clients: servers, the admin
// listener, files.
const reserved = 128

// maxFiles returns how many files the process may have open. 0 means no bound.
func maxFiles() int64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > 1<<32 {
		return 0
	}
	return int64(files.Cur)
}

// maxConnections returns how many clients may be connected: the number of files that the process
// may have open, less reserved. 0 means no bound.
func maxConnections() int64 {
	files := maxFiles()
	if files == 0 {
		return 0
	}
	return max(files-reserved, 1)
}

const (
	// unknownShare is the part of the memory that connections without an authenticated request may
	// take: one in eight. A connection authenticates within milliseconds, so this is enough for a
	// healthy host. The rest of the memory is for work.
	unknownShare = 8
	// ownUnknown is the part of that memory that connections of one address may take: one in two.
	ownUnknown = 2
	// leastUnknown is the least memory for such connections, in bytes: some 500 connections.
	leastUnknown = 8 << 20
	// usualUnknown is the memory for such connections on a host without a memory limit, in bytes.
	usualUnknown = 256 << 20
)

// unknownBytes returns how many bytes connections without an authenticated request may take.
func (h *host) unknownBytes() int {
	if h.options.Memory == 0 {
		return usualUnknown
	}
	return int(max(h.options.Memory/unknownShare, leastUnknown))
}

// addressBytes returns how many of these bytes the connections of one address may take.
func (h *host) addressBytes() int { return h.unknownBytes() / ownUnknown }

// newConnections makes the connection table of the MCP listener. A trusted proxy may have as many
// connections as its clients need.
func (h *host) newConnections(trusted func() []netip.Prefix) *streamable.Connections {
	return &streamable.Connections{
		Max: maxConnections(), Files: maxFiles(), PerAddress: h.now().config.Edge.AddressConnections,
		Group: func(a netip.Addr) (netip.Prefix, bool) {
			return quota.Network(a), !among(trusted(), a)
		},
		Proxied: func(a netip.Addr) bool {
			return h.now().config.ProxyProtocol && among(trusted(), a)
		},
		UnauthenticatedBytes:           int64(h.unknownBytes()),
		UnauthenticatedBytesPerAddress: int64(h.addressBytes()),
		Divide: func(total int64) streamable.Division {
			return quota.Shares{Total: total, Tenants: len(h.now().config.Tenants)}
		},
		Refused: h.disconnected,
	}
}

// tenantPart returns how many of all client connections are guaranteed to each of so many tenants.
func tenantPart(all int64, tenants int) int64 {
	return quota.Shares{Total: streamable.ForTenants(all), Tenants: tenants}.Guaranteed()
}

// connectionsCheck is the readiness check of the connections: it names who holds connections that
// others need.
func (h *host) connectionsCheck() admin.Check {
	c := admin.Check{Name: "connections", OK: true}
	if connections := h.connections.Load(); connections != nil {
		c.Detail = connections.Pressure()
		c.OK = c.Detail == ""
	}
	return c
}
