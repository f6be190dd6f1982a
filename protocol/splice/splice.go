// Package splice reads and edits raw JSON in place of decoding it: what is not edited keeps its bytes, so numbers of any length, the
// order of members and the sender's spacing survive.
//
// It does not know what the JSON means, and it does not check it: input that is not valid JSON (jsonrpc.Decode has refused it) is read
// as far as it goes, never with a panic. Values that are handed out share memory with the input; no function changes its input.
//
// Get, Set and their like do one thing at a time; an [Edit] does many in one pass.
//
// A path names members of objects, or elements of arrays by their decimal index: Get(raw, "tools", "0", "name").
package splice

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Get finds the value at the path.
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

// Kind is the kind of the value at the path, which it does not read to its end; 0 where there is none.
func Kind(raw jsontext.Value, path ...string) jsontext.Kind {
	at, ok := place(raw, path)
	if !ok || at >= len(raw) {
		return 0
	}
	return raw[at:].Kind()
}

// place is where the value at the path begins.
func place(raw jsontext.Value, path []string) (at int, ok bool) {
	at = skipSpace(raw, 0)
	for _, name := range path {
		it, _, ok := find(raw, at, name)
		if !ok {
			return 0, false
		}
		at = it.value
	}
	return at, true
}

// GetString finds a string and gives it without quotes and escapes.
func GetString(raw jsontext.Value, path ...string) (string, bool) {
	v, ok := Get(raw, path...)
	if !ok {
		return "", false
	}
	return Unquote(v)
}

// Unquote is the text of a JSON string; false for any other value.
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

// Quote is the JSON string of text. Bytes that are not UTF-8 become U+FFFD.
func Quote(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text) // the error only reports the replacement
	return v
}

// Set puts value at the path. Objects that the path needs are made; an empty raw counts as {}. It fails when the path leads through
// something that is neither an object nor an existing element.
func Set(raw, value jsontext.Value, path ...string) (jsontext.Value, error) {
	if len(path) == 0 {
		return value, nil
	}
	if len(raw) == 0 {
		return nest(nil, value, path), nil
	}
	at := skipSpace(raw, 0)
	for i := 0; ; i++ {
		it, c, ok := find(raw, at, path[i])
		switch {
		case !ok || i == len(path)-1 && !c.leave(&it):
			return insert(raw, at, value, path, i)
		case i == len(path)-1:
			return replace(raw, it.value, it.end, value), nil
		}
		at = it.value
	}
}

// SetString is Set of a string. Where the path leads to a value already, it makes one copy.
func SetString(raw jsontext.Value, text string, path ...string) (jsontext.Value, error) {
	at := skipSpace(raw, 0)
	for i, name := range path {
		it, c, ok := find(raw, at, name)
		if !ok || i == len(path)-1 && !c.leave(&it) {
			break
		}
		if at = it.value; i == len(path)-1 {
			out := make([]byte, 0, len(raw)-(it.end-at)+len(text)+len(`""`))
			out, _ = jsontext.AppendQuote(append(out, raw[:at]...), text) // as Quote does
			return append(out, raw[it.end:]...), nil
		}
	}
	return Set(raw, Quote(text), path...)
}

// Elide is an object with an empty one in the place of the object of least bytes or more that it
// has under that name, and what stood there. Where there is none it is raw itself, and nil. To
// change the short one in several places and put the long member back with Set makes one copy of
// that.
func Elide(raw jsontext.Value, name string, least int) (short, long jsontext.Value) {
	if len(raw) < least {
		return raw, nil
	}
	it, c, ok := find(raw, skipSpace(raw, 0), name)
	if !ok || !c.object || raw[it.value] != '{' || !c.leave(&it) || it.end-it.value < least {
		return raw, nil
	}
	return replace(raw, it.value, it.end, []byte("{}")), it.valueOf(raw)
}

// insert adds a member for path[i:] to the object at that place.
func insert(raw jsontext.Value, at int, value jsontext.Value, path []string, i int) (jsontext.Value, error) {
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
	return replace(raw, end, end, nest(member, value, path[i+1:])), nil
}

// nest appends value within an object for each name of the path.
func nest(dst []byte, value jsontext.Value, path []string) []byte {
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

// Delete takes the member or element at the path away, with one comma beside it. It reports whether there was one.
func Delete(raw jsontext.Value, path ...string) (jsontext.Value, bool) {
	at := skipSpace(raw, 0)
	for i, name := range path {
		it, c, ok := find(raw, at, name)
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

// replace is raw with the bytes of [from, to) replaced.
func replace(raw []byte, from, to int, with []byte) jsontext.Value {
	out := make([]byte, 0, len(raw)-(to-from)+len(with))
	out = append(out, raw[:from]...)
	out = append(out, with...)
	return append(out, raw[to:]...)
}

// Member is one member of an object.
type Member struct {
	Name  jsontext.Value // quoted, as it stands
	Value jsontext.Value
}

// Is reports whether the member has that name, however it is escaped.
func (m Member) Is(name string) bool { return same(m.Name, name) }

// Key is the member's name without quotes and escapes.
func (m Member) Key() string {
	key, _ := Unquote(m.Name)
	return key
}

// Members goes through an object; nothing for any other value.
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

// Elements goes through an array; nothing for any other value.
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

// Len is how many elements an array has; 0 for any other value.
func Len(raw jsontext.Value) int {
	n := 0
	for range Elements(raw) {
		n++
	}
	return n
}

// MapMembers rewrites an object in one pass: f gives each member's new value, or false to take the member away. An object in which
// nothing changes is returned as it is.
func MapMembers(raw jsontext.Value, f func(Member) (jsontext.Value, bool)) jsontext.Value {
	c, ok := open(raw, skipSpace(raw, 0))
	if !ok || !c.object {
		return raw
	}
	return rewrite(raw, c, func(it item) (jsontext.Value, bool) { return f(Member{it.nameOf(raw), it.valueOf(raw)}) })
}

// MapElements rewrites an array in the same way.
func MapElements(raw jsontext.Value, f func(jsontext.Value) (jsontext.Value, bool)) jsontext.Value {
	c, ok := open(raw, skipSpace(raw, 0))
	if !ok || c.object {
		return raw
	}
	return rewrite(raw, c, func(it item) (jsontext.Value, bool) { return f(it.valueOf(raw)) })
}

// Without takes several members of an object away in one pass.
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

// rewrite copies the container at c with what f makes of its items; without a change there is no copy.
func rewrite(raw jsontext.Value, c cursor, f func(item) (jsontext.Value, bool)) jsontext.Value {
	var out []byte
	kept, stop := 0, c.at // stop is the end of what is kept, without the comma after it
	for it, ok := c.next(); ok; it, ok = c.next() {
		value, keep := f(it)
		if out == nil && keep && bytes.Equal(value, it.valueOf(raw)) {
			kept, stop = kept+1, it.stop
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
		out = append(out, raw[it.end:it.stop]...)
		kept++
	}
	if out == nil || !c.closed {
		return raw
	}
	return append(out, raw[c.at:]...)
}

// same compares a quoted name with a plain one.
func same(quoted []byte, name string) bool {
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
