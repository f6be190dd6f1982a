package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// separator stands between server and name. No server's name has an underscore, so that the first one found is it.
const separator = "__"

// MaxExternal is the longest name, in characters, that every known client takes.
const MaxExternal = 64

// kept is how much of a longer name stays: the rest is `_` and the first 8 hexadecimal digits of a hash.
const kept = MaxExternal - 1 - 8

// External is the name that a server's tool or prompt has in the one list. A name that would be too long is cut and ends in digits of
// the SHA-256 of server, NUL, name: it cannot be split again, and a Catalog remembers it.
func External(server, name string) string {
	full := server + separator + name
	if utf8.RuneCountInString(full) <= MaxExternal {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	return firstRunes(full, kept) + "_" + hex.EncodeToString(sum[:4])
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
