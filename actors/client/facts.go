package client

import (
	"bytes"
	"slices"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/telemetry"
)

// Bounds of what a server says of itself, in bytes.
const (
	MaxInstructions = 64 << 10  // of its instructions, where it is seen alone; see catalog.MaxInstructions
	MaxDeclared     = 256 << 10 // of its capabilities, and of its serverInfo: icons as data URIs fit
)

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

// Bound returns what of the facts is kept, and passed on to clients, and how that is less than what
// the server said.
func (f Facts) Bound() (Facts, []catalog.Cut) {
	var cuts []catalog.Cut
	note := func(r catalog.Reason) { cuts = append(cuts, catalog.Cut{Reason: r, Count: 1}) }
	if text := catalog.Ellipsis(f.Instructions, MaxInstructions); text != f.Instructions {
		f.Instructions = text
		note(catalog.LongInstructions)
	}
	if len(f.Capabilities.Raw()) > MaxDeclared {
		f.Capabilities = f.Capabilities.Bare()
		note(catalog.LargeCapabilities)
	}
	if len(f.Server.Raw()) > MaxDeclared {
		f.Server = protocol.Implementation{
			Name: catalog.Ellipsis(f.Server.Name, catalog.MaxName), Version: catalog.Ellipsis(f.Server.Version, catalog.MaxName),
		}
		note(catalog.LargeServerInfo)
	}
	return f, cuts
}

// bounds is what is kept of the facts. An operator is told once of the same bounds that they exceed.
func (c *Connection) bounds(f Facts) Facts {
	f, cuts := f.Bound()
	for _, cut := range cuts {
		if !slices.Contains(c.factCuts, cut) {
			c.o.Emit(telemetry.ListCut{
				Where: c.where(), List: "initialize", Reason: string(cut.Reason), Count: uint32(cut.Count),
				First: telemetry.Clean(f.Server.Name, telemetry.MaxValue),
			})
		}
	}
	c.factCuts = cuts
	return f
}
