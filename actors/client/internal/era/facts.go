package era

import (
	"bytes"
	"slices"
	"strings"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
)

// MaxStamp bounds the serverInfo that the host adds to every result, in bytes. Otherwise the
// description that a server gives of itself is bounded by its message only: it is kept once for all
// clients that see the same, and counted.
const MaxStamp = 256 << 10

// Facts are what the handshake established about a server.
type Facts struct {
	Version      protocol.Version
	Capabilities protocol.ServerCapabilities
	Server       protocol.Implementation
	Instructions string
}

// Same reports whether clients cannot tell two servers apart by these facts.
func (f Facts) Same(so Facts) bool {
	return f.Version == so.Version && f.Instructions == so.Instructions &&
		bytes.Equal(f.Capabilities.Raw(), so.Capabilities.Raw()) &&
		bytes.Equal(f.Server.Raw(), so.Server.Raw())
}

// Size returns the size of the facts in bytes.
func (f Facts) Size() int {
	return len(f.Capabilities.Raw()) + len(f.Server.Raw()) + len(f.Instructions)
}

// Bound returns the facts as they are kept and passed on to clients, and the cuts that clients are
// told of. Instructions and capabilities are cut only for clients of the list of all servers. Name
// and version are shortened where the host itself writes them, but not in the serverInfo that
// clients get.
func (f Facts) Bound() (Facts, []catalog.Cut) {
	var cuts []catalog.Cut
	note := func(r catalog.Reason) { cuts = append(cuts, catalog.Cut{Reason: r, Count: 1}) }
	if len(strings.TrimSpace(f.Instructions)) > catalog.MaxInstructions {
		note(catalog.LongInstructions)
	}
	if len(f.Capabilities.Raw()) > catalog.MaxCapabilities {
		note(catalog.LargeCapabilities)
	}
	f.Server = f.Server.WithName(
		catalog.Ellipsis(f.Server.Name, catalog.MaxName),
		catalog.Ellipsis(f.Server.Version, catalog.MaxName),
	)
	return f, cuts
}

// Stamp returns the server that the host names in each of its results. If the server says too much
// of itself, that is its name and version alone.
func (f Facts) Stamp() protocol.Implementation {
	if len(f.Server.Raw()) > MaxStamp {
		return protocol.Implementation{Name: f.Server.Name, Version: f.Server.Version}
	}
	return f.Server
}

// Offers reports whether the server declares that it has a list of this kind.
func (f Facts) Offers(k catalog.Kind) bool { return f.Capabilities.Has(k.Capability()) }

// Asks reports whether the server is asked for a list of this kind. A server that declares no list
// at all is asked for every list: clients that do not look at capabilities find what it has.
func (f Facts) Asks(k catalog.Kind) bool {
	return f.Offers(k) || !slices.ContainsFunc(catalog.Kinds(), f.Offers)
}
