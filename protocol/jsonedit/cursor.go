package jsonedit

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// cursor iterates over the items of one object or array.
type cursor struct {
	raw      []byte
	at       int // start of the next item's bytes; the closing bracket once closed
	object   bool
	hasItems bool // an item came before
	closed   bool // the closing bracket was reached
}

// item is one member or element. Its bytes extend from the bracket or comma before it to the comma
// or bracket after it:
//
//	start  from      value    end stop
//	{      "name" :  12345        ,
type item struct{ start, from, colon, value, end, after int }

func (it item) nameOf(raw []byte) jsontext.Value {
	return raw[it.from:it.colon:it.colon]
}

func (it item) valueOf(raw []byte) jsontext.Value { return raw[it.value:it.end:it.end] }

// cut returns the span to remove with the item: its bytes and one comma beside them.
func (it item) cut(raw []byte) (from, to int) {
	switch {
	case raw[it.after] == ',':
		return it.start, it.after + 1
	case raw[it.start-1] == ',':
		return it.start - 1, it.after
	}
	return it.start, it.after
}

// open starts an iteration over the container whose bracket is at that place.
func open(raw []byte, at int) (cursor, bool) {
	if at >= len(raw) || raw[at] != '{' && raw[at] != '[' {
		return cursor{}, false
	}
	return cursor{raw: raw, at: at + 1, object: raw[at] == '{'}, true
}

// next skips one item. It returns false at the closing bracket, and where the text is broken.
func (c *cursor) next() (it item, ok bool) {
	it, ok = c.enter()
	return it, ok && c.leave(&it)
}

// enter moves to the value of the next item, but not past the value. A caller that looks for that
// item may not need the value's end.
func (c *cursor) enter() (it item, ok bool) {
	if c.closed {
		return it, false
	}
	raw := c.raw
	it.start = c.at
	it.from = skipSpace(raw, c.at)
	if it.from >= len(raw) {
		return it, false
	}
	if !c.hasItems && (raw[it.from] == '}' || raw[it.from] == ']') {
		c.at, c.closed = it.from, true
		return it, false
	}
	it.value = it.from
	if c.object {
		if it.colon, ok = skipString(raw, it.from); !ok {
			return it, false
		}
		colon := skipSpace(raw, it.colon)
		if colon >= len(raw) || raw[colon] != ':' {
			return it, false
		}
		it.value = skipSpace(raw, colon+1)
	}
	return it, it.value < len(raw)
}

// leave skips the value of an item that was entered.
func (c *cursor) leave(it *item) (ok bool) {
	raw := c.raw
	if it.end, ok = skipValue(raw, it.value); !ok {
		return false
	}
	it.after = skipSpace(raw, it.end)
	if it.after >= len(raw) {
		return false
	}
	switch raw[it.after] {
	case ',':
		c.at = it.after + 1
	case '}', ']':
		c.at, c.closed = it.after, true
	default:
		return false
	}
	c.hasItems = true
	return true
}

// findItem enters the member with that name, or the element with that index, in the container at
// that place.
func findItem(raw []byte, at int, name string) (it item, c cursor, ok bool) {
	if c, ok = open(raw, at); !ok || c.object && lacks(raw[at:], name) {
		return it, c, false
	}
	index := -1
	if !c.object {
		if index, ok = parseIndex(name); !ok {
			return it, c, false
		}
	}
	for {
		if it, ok = c.enter(); !ok || c.object && nameEquals(it.nameOf(raw), name) || index == 0 {
			return it, c, ok
		}
		if !c.leave(&it) {
			return it, c, false
		}
		index--
	}
}

// lacks reports quickly, in most cases, that raw has no member of that name: the name does not
// occur, and no escape could spell it. Most members that callers look for are absent. This search
// costs a tenth of an iteration over all members.
func lacks(raw []byte, name string) bool {
	return !bytes.Contains(raw, []byte(name)) && bytes.IndexByte(raw, '\\') < 0
}

func parseIndex(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the end of the string that begins at i.
func skipString(raw []byte, i int) (int, bool) {
	if i >= len(raw) || raw[i] != '"' {
		return i, false
	}
	for i++; ; i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return i, false
		}
		from := i
		i += n
		slashes := 0
		for i-1-slashes >= from && raw[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1, true
		}
	}
}

// skipValue returns the end of the value that begins at i.
func skipValue(raw []byte, i int) (int, bool) {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			end, ok := skipString(raw, i)
			if !ok {
				return i, false
			}
			i = end
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i, false
			}
			i++
			continue
		default:
			i = skipWord(raw, i)
		}
		if depth <= 0 {
			return i, depth == 0
		}
	}
	return i, false
}

// skipWord returns the end of the number, true, false or null that begins at i.
func skipWord(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case ',', ':', ']', '}', '"', '{', '[', ' ', '\n', '\r', '\t':
			return i
		}
	}
	return i
}
