// Package jsonedit reads and edits raw JSON without decoding it. Text that is not edited keeps its
// bytes: numbers of any length, the order of members, and the sender's spacing.
//
// The package does not know the meaning of the JSON, and does not validate it. It reads invalid
// JSON, which jsonrpc.Decode refuses, up to the error and never panics. Returned values share
// memory with the input. No function changes its input.
//
// Functions such as Get and Set do one operation each. An [Edit] does many in one pass.
//
// A path consists of names of members, and of decimal indexes of elements of arrays: Get(raw,
// "tools", "0", "name").
package jsonedit

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Get returns the value at the path, and whether there is one.
func Get(raw jsontext.Value, path ...string) (jsontext.Value, bool) {
	at, ok := place(raw, path)
	if !ok {
		return nil, false
	}
	end, ok := skipValue(raw, at)
	if !ok {
		return nil, false
	}
	return raw[at:end:end], true
}

// Kind is the JSON type of the value at the path, or 0 if there is none. It does not read the value
// to its end.
func Kind(raw jsontext.Value, path ...string) jsontext.Kind {
	at, ok := place(raw, path)
	if !ok || at >= len(raw) {
		return 0
	}
	return raw[at:].Kind()
}

// place returns the offset of the value at the path.
func place(raw jsontext.Value, path []string) (at int, ok bool) {
	at = skipSpace(raw, 0)
	for _, name := range path {
		it, _, ok := findItem(raw, at, name)
		if !ok {
			return 0, false
		}
		at = it.value
	}
	return at, true
}

// GetString returns the string at the path, without quotes and escapes. It returns false if there
// is no string.
func GetString(raw jsontext.Value, path ...string) (string, bool) {
	v, ok := Get(raw, path...)
	if !ok {
		return "", false
	}
	return Unquote(v)
}

// Unquote returns the text of a JSON string. It returns false for any other value.
func Unquote(v jsontext.Value) (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1]), true
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

// Quote returns text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func Quote(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text) // the error only reports the replacement
	return v
}

// Set puts value at the path. It creates the objects that the path needs. An empty raw counts as
// {}. Set returns an error if the path leads through a value that is neither an object nor an
// existing element.
func Set(raw, value jsontext.Value, path ...string) (jsontext.Value, error) {
	if len(path) == 0 {
		return value, nil
	}
	if len(raw) == 0 {
		return wrapInObjects(nil, value, path), nil
	}
	at := skipSpace(raw, 0)
	for i := 0; ; i++ {
		it, c, ok := findItem(raw, at, path[i])
		switch {
		case !ok || i == len(path)-1 && !c.leave(&it):
			return insert(raw, at, value, path, i)
		case i == len(path)-1:
			return replace(raw, it.value, it.end, value), nil
		}
		at = it.value
	}
}

// SetString is Set with a string. It makes only one copy if there is a value at the path already.
func SetString(raw jsontext.Value, text string, path ...string) (jsontext.Value, error) {
	at := skipSpace(raw, 0)
	for i, name := range path {
		it, c, ok := findItem(raw, at, name)
		if !ok || i == len(path)-1 && !c.leave(&it) {
			break
		}
		if at = it.value; i == len(path)-1 {
			out := make([]byte, 0, len(raw)-(it.end-at)+len(text)+len(`""`))
			out, _ = jsontext.AppendQuote(append(out, raw[:at]...), text) // quotes as Quote does
			return append(out, raw[it.end:]...), nil
		}
	}
	return Set(raw, Quote(text), path...)
}

// Elide replaces the object in the member with that name by {}, if it has at least least bytes. It
// returns the shorter text and the elided value. Otherwise it returns raw and nil. A caller can
// then make several changes to the short text, and restore the long member with Set, at the cost of
// a single copy of it.
func Elide(raw jsontext.Value, name string, least int) (short, long jsontext.Value) {
	if len(raw) < least {
		return raw, nil
	}
	it, c, ok := findItem(raw, skipSpace(raw, 0), name)
	if !ok || !c.object || raw[it.value] != '{' || !c.leave(&it) || it.end-it.value < least {
		return raw, nil
	}
	return replace(raw, it.value, it.end, []byte("{}")), it.valueOf(raw)
}

// insert adds a member for path[i:] to the object at that place.
func insert(raw jsontext.Value, at int, value jsontext.Value, path []string,
	i int) (jsontext.Value, error) {
	c, ok := open(raw, at)
	if !ok || !c.object {
		return nil, fmt.Errorf("no place for %q in %.64q", strings.Join(path[:i+1], "."), raw[at:])
	}
	end, room := c.at, len(value)
	for _, name := range path[i:] {
		room += len(name) + len(`,"":{}`)
	}
	member := make([]byte, 0, room)
	for it, ok := c.next(); ok; it, ok = c.next() {
		end = it.end
		member = append(member[:0], ',')
	}
	if !c.closed {
		return nil, fmt.Errorf("broken object at byte %d", at)
	}
	member, _ = jsontext.AppendQuote(member, path[i])
	member = append(member, ':')
	return replace(raw, end, end, wrapInObjects(member, value, path[i+1:])), nil
}

// wrapInObjects appends value, wrapped in an object for each name of the path.
func wrapInObjects(dst []byte, value jsontext.Value, path []string) []byte {
	for _, name := range path {
		dst = append(dst, '{')
		dst, _ = jsontext.AppendQuote(dst, name)
		dst = append(dst, ':')
	}
	dst = append(dst, value...)
	for range path {
		dst = append(dst, '}')
	}
	return dst
}

// Delete removes the member or element at the path, with one comma beside it. It reports whether
// there was one.
func Delete(raw jsontext.Value, path ...string) (jsontext.Value, bool) {
	at := skipSpace(raw, 0)
	for i, name := range path {
		it, c, ok := findItem(raw, at, name)
		if !ok || i == len(path)-1 && !c.leave(&it) {
			return raw, false
		}
		at = it.value
		if i == len(path)-1 {
			from, to := it.cut(raw)
			return replace(raw, from, to, nil), true
		}
	}
	return raw, false
}

// replace returns raw with the bytes of [from, to) replaced.
func replace(raw []byte, from, to int, with []byte) jsontext.Value {
	out := make([]byte, 0, len(raw)-(to-from)+len(with))
	out = append(out, raw[:from]...)
	out = append(out, with...)
	return append(out, raw[to:]...)
}

// Member is one member of an object.
type Member struct {
	Name  jsontext.Value // quoted, as it stands in the text
	Value jsontext.Value
}

// Is reports whether the member has that name, with or without escapes in the text.
func (m Member) Is(name string) bool { return nameEquals(m.Name, name) }

// Key is the member's name without quotes and escapes.
func (m Member) Key() string {
	key, _ := Unquote(m.Name)
	return key
}

// Members iterates over the members of an object. The iteration is empty for any other value.
func Members(raw jsontext.Value) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		c, ok := open(raw, skipSpace(raw, 0))
		if !ok || !c.object {
			return
		}
		for it, ok := c.next(); ok; it, ok = c.next() {
			if !yield(Member{it.nameOf(raw), it.valueOf(raw)}) {
				return
			}
		}
	}
}

// Elements iterates over the elements of an array. The iteration is empty for any other value.
func Elements(raw jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		c, ok := open(raw, skipSpace(raw, 0))
		if !ok || c.object {
			return
		}
		for it, ok := c.next(); ok; it, ok = c.next() {
			if !yield(it.valueOf(raw)) {
				return
			}
		}
	}
}

// Len is the number of elements of an array; 0 for any other value.
func Len(raw jsontext.Value) int {
	n := 0
	for range Elements(raw) {
		n++
	}
	return n
}

// MapMembers rewrites an object in one pass. For each member, f returns its new value, or false to
// remove it. MapMembers returns raw if nothing changes.
func MapMembers(raw jsontext.Value, f func(Member) (jsontext.Value, bool)) jsontext.Value {
	c, ok := open(raw, skipSpace(raw, 0))
	if !ok || !c.object {
		return raw
	}
	return rewrite(raw, c, func(it item) (jsontext.Value, bool) {
		return f(Member{it.nameOf(raw), it.valueOf(raw)})
	})
}

// MapElements rewrites an array in one pass. For each element, f returns its new value, or false to
// remove it. MapElements returns raw if nothing changes.
func MapElements(raw jsontext.Value, f func(jsontext.Value) (jsontext.Value, bool)) jsontext.Value {
	c, ok := open(raw, skipSpace(raw, 0))
	if !ok || c.object {
		return raw
	}
	return rewrite(raw, c, func(it item) (jsontext.Value, bool) { return f(it.valueOf(raw)) })
}

// Without removes several members of an object in one pass.
func Without(raw jsontext.Value, names ...string) jsontext.Value {
	return MapMembers(raw, func(m Member) (jsontext.Value, bool) {
		for _, name := range names {
			if m.Is(name) {
				return nil, false
			}
		}
		return m.Value, true
	})
}

// rewrite copies the container at c with the results of f for its items. It makes no copy if
// nothing changes.
func rewrite(raw jsontext.Value, c cursor, f func(item) (jsontext.Value, bool)) jsontext.Value {
	var out []byte
	kept, stop := 0, c.at // after is the end of the unchanged items, without the comma after it
	for it, ok := c.next(); ok; it, ok = c.next() {
		value, keep := f(it)
		if out == nil && keep && bytes.Equal(value, it.valueOf(raw)) {
			kept, stop = kept+1, it.after
			continue
		}
		if out == nil {
			out = append(make([]byte, 0, len(raw)+len(value)), raw[:stop]...)
		}
		if !keep {
			continue
		}
		if kept > 0 {
			out = append(out, ',')
		}
		out = append(out, raw[it.start:it.value]...)
		out = append(out, value...)
		out = append(out, raw[it.end:it.after]...)
		kept++
	}
	if out == nil || !c.closed {
		return raw
	}
	return append(out, raw[c.at:]...)
}

// nameEquals compares a quoted name with a plain one.
func nameEquals(quoted []byte, name string) bool {
	if len(quoted) < 2 {
		return false
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(text) == name
}
