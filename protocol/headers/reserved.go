package headers

import (
	"net/textproto"
	"slices"
	"strings"
)

// reserved lists the HTTP fields that mcpd itself sets on its requests: those of the protocol and
// those of a connection.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Host", "Keep-Alive", "Last-Event-Id",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// Reserved reports whether the configuration must not set a header field, regardless of case. mcpd
// itself sets these fields, and all fields that begin with Mcp-.
func Reserved(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return slices.Contains(reserved, name) || strings.HasPrefix(name, "Mcp-")
}
