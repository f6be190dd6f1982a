// Package headers copies parts of a modern request into HTTP header fields, so that proxies can
// route by them. It checks that the header of an arriving request agrees with its body (2026-07-28
// §basic/transports/streamable-http, SEP-2243).
//
// The package also lists the header fields that mcpd reserves for itself, and defines how the hosts
// in Host and Origin are compared.
//
// The package does not know HTTP. Fields are names and values, read through a [Lookup].
// protocol.Negotiation.Classify compares MCP-Protocol-Version with _meta. The feature
// protocol.RoutingHeaders marks the revisions that have these fields.
package headers

// The names of the fields. Param is a prefix, which the schema of a tool completes.
const (
	Method = "Mcp-Method"
	Name   = "Mcp-Name"
	Param  = "Mcp-Param-"
)

// The bounds of header fields.
const (
	// MaxValue bounds one encoded value, in bytes: 8 KiB. Common servers and proxies refuse longer
	// lines.
	MaxValue = 8 << 10
	// MaxParams bounds the mirrored arguments of one tool. With more of them the fields could exceed
	// the size of a header that servers accept.
	MaxParams = 64
	// MaxDepth bounds the depth of a schema. Package jsonrpc decodes no deeper nesting.
	MaxDepth = 64
	// MaxInteger is the largest absolute value of a mirrored integer: 2^53-1, up to which every peer
	// is exact.
	MaxInteger = 1<<53 - 1
)

// Field is one header field.
type Field struct{ Name, Value string }

// Lookup returns the values of all fields with that name, regardless of case. The method Values of
// http.Header is a Lookup.
type Lookup func(name string) []string
