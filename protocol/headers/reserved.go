package headers

import (
	"net/textproto"
	"slices"
	"strings"
)

// reserved are the fields of HTTP that mcpd sets itself on what it sends: those of the protocol,
// and those of one connection.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Host", "Keep-Alive", "Last-Event-Id",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// Reserved reports whether a configuration cannot set a header field, in whatever case: mcpd sets
// it itself, as everything that begins with Mcp-.
func Reserved(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return slices.Contains(reserved, name) || strings.HasPrefix(name, "Mcp-")
}
