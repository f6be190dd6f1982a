package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// separator stands between server and name. No server's name has an underscore, so that the first
// one found is it.
const separator = "__"

// MaxExternal is the longest name, in characters, that every known client takes.
const MaxExternal = 64

// kept is how much of a longer name stays: the rest is `_` and the first 8 hexadecimal digits of a
// hash.
const kept = MaxExternal - 1 - 8

// External is the name that a server's tool or prompt has in the one list. A name that would be too
// long is cut and ends in a digest, so that it cannot be split again: a Catalog remembers it. So does
// an empty name.
func External(server, name string) string {
	full := server + separator + name
	if name != "" && utf8.RuneCountInString(full) <= MaxExternal {
		return full
	}
	return digested(server, name, full)
}

// digested is an external name with a digest of server and name at its end: the first 8 hexadecimal
// digits of the SHA-256 of server, NUL, name.
func digested(server, name, full string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	return firstRunes(full, kept) + "_" + hex.EncodeToString(sum[:4])
}

// fitting is a tool's name with an underscore in place of each character that models' interfaces
// refuse: they take ^[a-zA-Z0-9_-]{1,64}$. It is the name itself where there is none.
func fitting(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' ||
			r == '-' {
			return r
		}
		return '_'
	}, name)
}

// toolNames are the external names of one server's tools. They depend on nothing but the names of
// these tools: not on their order, and not on other servers.
type toolNames struct {
	server string
	fits   map[string]int // how many of the tools have this name once it is fitting
	plain  map[string]bool
}

// namesOfTools looks at all tools of a server before the first is named.
func namesOfTools(server string, names map[string]bool) toolNames {
	t := toolNames{server, map[string]int{}, map[string]bool{}}
	for name := range names {
		fit := fitting(name)
		t.fits[fit]++
		t.plain[fit] = t.plain[fit] || fit == name
	}
	return t
}

// external is the name of one of the tools. A changed name that another tool of the server has too
// ends in a digest; a name that needs no change keeps it.
func (t toolNames) external(name string) string {
	fit := fitting(name)
	if fit != name && (t.plain[fit] || t.fits[fit] > 1) {
		return digested(t.server, name, t.server+separator+fit)
	}
	if full := t.server + separator + fit; name == "" || len(full) > MaxExternal {
		return digested(t.server, name, full)
	}
	return t.server + separator + fit
}

// ToolName is the external name of a tool of which no other tool of its server has the changed
// name.
func ToolName(server, name string) string {
	return namesOfTools(server, map[string]bool{name: true}).external(name)
}

// split takes a name of the one list apart.
func split(external string) (server, name string, ok bool) {
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
