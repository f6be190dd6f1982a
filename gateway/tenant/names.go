package tenant

import "slices"

// Bounds of names. The name of a tenant may be as long as a DNS label. The name of a server
// leaves half of a 64 character tool name to the tool.
const (
	MaxName       = 63
	MaxServerName = 32
)

// Reserved are words that may not be the name of a server, because each is a segment of a path
// with a meaning of its own.
var Reserved = []string{"mcp", "sse", "t"}

// NamePattern and ServerPattern are the rules as regular expressions, for schemas and messages.
const (
	NamePattern   = "^[a-z0-9-]{1,63}$"
	ServerPattern = "^[a-z0-9][a-z0-9-]{0,31}$"
)

// ValidName reports whether s may be the name of a tenant.
func ValidName(s string) bool {
	return len(s) >= 1 && len(s) <= MaxName && plain(s)
}

// ValidServer reports whether s may be the name of a server. The name has no underscore, so
// `{server}__{name}` can be split in only one way.
func ValidServer(s string) bool {
	return len(s) >= 1 && len(s) <= MaxServerName && s[0] != '-' && plain(s) &&
		!slices.Contains(Reserved, s)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
