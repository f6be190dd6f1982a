package tenant

import "slices"

// Bounds of names. A tenant's is a DNS label's, a server's leaves half of a 64 character tool name to the tool.
const (
	MaxName   = 63
	MaxServer = 32
)

// Reserved are the words that no server may be called: each is a segment with a meaning of its own in a path.
var Reserved = []string{"mcp", "sse", "t"}

// NamePattern and ServerPattern are the rules as regular expressions, for schemas and messages.
const (
	NamePattern   = "^[a-z0-9-]{1,63}$"
	ServerPattern = "^[a-z0-9][a-z0-9-]{0,31}$"
)

// ValidName reports whether s may name a tenant.
func ValidName(s string) bool {
	return len(s) >= 1 && len(s) <= MaxName && plain(s)
}

// ValidServer reports whether s may name a server. Without an underscore in it, `{server}__{name}` splits in one way only.
func ValidServer(s string) bool {
	return len(s) >= 1 && len(s) <= MaxServer && s[0] != '-' && plain(s) && !slices.Contains(Reserved, s)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
