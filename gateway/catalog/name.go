package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// separator stands between server and name. Names of servers have no underscore, so the first
// separator is the right one.
const separator = "__"

// MaxExternal is the longest name, in characters, that every known client accepts.
const MaxExternal = 64

// keptRunes is how many characters of a longer name are kept. The rest is `_` and the first 8
// hexadecimal digits of a hash.
const keptRunes = MaxExternal - 1 - 8

// External returns the name of a server's tool or prompt in the merged list. A name that would be
// too long is cut and ends in a digest, and so does an empty name. Such a name cannot be split
// again, so a Catalog remembers it.
func External(server, name string) string {
	full := server + separator + name
	if name != "" && utf8.RuneCountInString(full) <= MaxExternal {
		return full
	}
	return digested(server, name, full)
}

// digested returns an external name that ends in a digest of server and name: the first 8
// hexadecimal digits of the SHA-256 of server, NUL, name.
func digested(server, name, full string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	return firstRunes(full, keptRunes) + "_" + hex.EncodeToString(sum[:4])
}

// sanitized returns a tool's name with an underscore in place of each character that the interfaces
// of models refuse: they accept ^[a-zA-Z0-9_-]{1,64}$. A name without such a character stays
// unchanged.
func sanitized(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' ||
			r == '-' {
			return r
		}
		return '_'
	}, name)
}

// toolNames are the external names of one server's tools. They depend only on the names of these
// tools: not on their order, and not on other servers.
type toolNames struct {
	server string
	// fits counts the tools that have this name after fitting.
	fits  map[string]int
	plain map[string]bool
}

// namesOfTools looks at all tools of a server before the first tool is named.
func namesOfTools(server string, names map[string]bool) toolNames {
	t := toolNames{server, map[string]int{}, map[string]bool{}}
	for name := range names {
		fit := sanitized(name)
		t.fits[fit]++
		t.plain[fit] = t.plain[fit] || fit == name
	}
	return t
}

// external returns the external name of a tool. A changed name ends in a digest if another tool
// of the server has the same name. A name that needs no change stays unchanged.
func (t toolNames) external(name string) string {
	fit := sanitized(name)
	if fit != name && (t.plain[fit] || t.fits[fit] > 1) {
		return digested(t.server, name, t.server+separator+fit)
	}
	if full := t.server + separator + fit; name == "" || len(full) > MaxExternal {
		return digested(t.server, name, full)
	}
	return t.server + separator + fit
}

// ToolName returns the external name of a tool, provided that no other tool of the server has the
// same name after fitting.
func ToolName(server, name string) string {
	return namesOfTools(server, map[string]bool{name: true}).external(name)
}

// splitName splits a name of the merged list into server and name.
func splitName(external string) (server, name string, ok bool) {
	server, name, ok = strings.Cut(external, separator)
	return server, name, ok && server != "" && name != ""
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
