package era

import (
	"bytes"
	"slices"
	"strings"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
)

// MaxStamp bounds the serverInfo that the host adds to every result, in bytes. What a server says
// of itself is bounded by its message only: it is kept once for all who see the same, and
// counted.
const MaxStamp = 256 << 10

// Facts are what the handshake established about a server.
type Facts struct {
	Version      protocol.Version
	Capabilities protocol.ServerCapabilities
	Server       protocol.Implementation
	Instructions string
}

// Same reports whether nobody can tell two servers apart by these.
func (f Facts) Same(so Facts) bool {
	return f.Version == so.Version && f.Instructions == so.Instructions &&
		bytes.Equal(f.Capabilities.Raw(), so.Capabilities.Raw()) && bytes.Equal(f.Server.Raw(), so.Server.Raw())
}

// Size is how many bytes they are.
func (f Facts) Size() int {
	return len(f.Capabilities.Raw()) + len(f.Server.Raw()) + len(f.Instructions)
}

// Bound returns what of the facts is kept, and passed on to clients, and how clients are told
// less than the server said: of instructions and capabilities only clients of the list of all
// servers are. Name and version are shortened as the host itself says them, but not as clients
// get them in serverInfo.
func (f Facts) Bound() (Facts, []catalog.Cut) {
	var cuts []catalog.Cut
	note := func(r catalog.Reason) { cuts = append(cuts, catalog.Cut{Reason: r, Count: 1}) }
	if len(strings.TrimSpace(f.Instructions)) > catalog.MaxInstructions {
		note(catalog.LongInstructions)
	}
	if len(f.Capabilities.Raw()) > catalog.MaxCapabilities {
		note(catalog.LargeCapabilities)
	}
	f.Server = f.Server.Said(
		catalog.Ellipsis(f.Server.Name, catalog.MaxName), catalog.Ellipsis(f.Server.Version, catalog.MaxName),
	)
	return f, cuts
}

// Stamp is who the host says that results are from, in each of them: name and version alone where
// the server says too much of itself.
func (f Facts) Stamp() protocol.Implementation {
	if len(f.Server.Raw()) > MaxStamp {
		return protocol.Implementation{Name: f.Server.Name, Version: f.Server.Version}
	}
	return f.Server
}

// Offers reports whether the server declares that it has a list of this kind.
func (f Facts) Offers(k catalog.Kind) bool { return f.Capabilities.Has(k.Capability()) }

// Asks reports whether the server is asked for a list of this kind. One that declares no list at
// all is asked for every list: clients that do not look at capabilities find what it has.
func (f Facts) Asks(k catalog.Kind) bool {
	return f.Offers(k) || !slices.ContainsFunc(catalog.Kinds(), f.Offers)
}
