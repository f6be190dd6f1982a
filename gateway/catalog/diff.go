package catalog

import (
	"bytes"
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Change is the difference between two lists. The names are those in the lists.
type Change struct {
	Added, Removed, Changed []string
	// Moved reports whether the same items are in another order.
	Moved bool
}

// Any reports whether the lists differ, so that clients must be notified.
func (c Change) Any() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed) > 0 || c.Moved
}

// Diff compares a list with its predecessor. Items are equal when they mean the same: white space
// and the order of members do not count, but the spelling of numbers does. Items without a name
// are compared as a whole.
func Diff(k Kind, before, after []jsontext.Value) Change {
	var c Change
	if sameBytes(before, after) {
		return c
	}
	was, order := index(k, before)
	is, names := index(k, after)
	for _, name := range names {
		switch sum, ok := was[name]; {
		case !ok:
			c.Added = append(c.Added, name)
		case sum != is[name]:
			c.Changed = append(c.Changed, name)
		}
	}
	for _, name := range order {
		if _, ok := is[name]; !ok {
			c.Removed = append(c.Removed, name)
		}
	}
	if len(c.Added)+len(c.Removed) == 0 {
		for i := range names {
			c.Moved = c.Moved || names[i] != order[i]
		}
	}
	return c
}

// sameBytes covers the usual case without decoding.
func sameBytes(a, b []jsontext.Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// index returns a digest of each item's meaning by name, and the names in order. Of several items
// with one name the first counts.
func index(k Kind, items []jsontext.Value) (sums map[string][sha256.Size]byte, names []string) {
	sums = make(map[string][sha256.Size]byte, len(items))
	for _, item := range items {
		name, ok := jsonedit.GetString(item, kinds[k].key)
		if !ok {
			name = string(item)
		}
		if _, twice := sums[name]; twice {
			continue
		}
		canonical := item.Clone()
		if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false),
			jsontext.CanonicalizeRawFloats(false)); err != nil {
			canonical = item
		}
		sums[name] = sha256.Sum256(canonical)
		names = append(names, name)
	}
	return sums, names
}
