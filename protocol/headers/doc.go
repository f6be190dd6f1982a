// Package headers mirrors parts of a modern request in HTTP header fields, so that what stands between client and server can route by
// them, and checks that an arrived request says the same in both places (2026-07-28 §basic/transports/streamable-http, SEP-2243).
//
// Of other fields it knows which are mcpd's own, and how the hosts in them are compared.
//
// It does not know HTTP: fields are names and values, read through a [Lookup]. MCP-Protocol-Version is compared with _meta elsewhere, by
// protocol.Negotiation.Classify, and which revisions have these fields is protocol.RoutingHeaders.
package headers

// The fields. Param is the beginning of a name that a tool's schema completes.
const (
	Method = "Mcp-Method"
	Name   = "Mcp-Name"
	Param  = "Mcp-Param-"
)

const (
	// MaxValue bounds one encoded value in bytes: common servers and proxies refuse longer lines.
	MaxValue = 8 << 10
	// MaxParams bounds the mirrored arguments of one tool; with more, the fields alone would exceed what servers read of a head.
	MaxParams = 64
	// MaxDepth bounds how deep a schema is looked into: what jsonrpc decodes nests no deeper.
	MaxDepth = 64
	// MaxInteger is the largest absolute value of a mirrored integer: 2^53-1, which every peer holds exactly.
	MaxInteger = 1<<53 - 1
)

// Field is one header field.
type Field struct{ Name, Value string }

// Lookup gives the values of all fields of that name, whose case does not matter. The method Values of an http.Header is one.
type Lookup func(name string) []string
