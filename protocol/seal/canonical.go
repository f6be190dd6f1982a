package seal

import (
	"bufio"
	"bytes"
	"hash"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// without are the members of params that differ between a request and its retry.
var without = []string{"_meta", "inputResponses", "requestState"}

// canonical hashes the one form of params: its length, and then the form, which is that of
// jsontext.Value.Format with jsontext.ReorderRawObjects. It copies nothing, because params may be
// large: it measures the form first, and then writes it. It takes notes only of objects whose
// members are not in order. What is no JSON stays as it is, and is told apart all the same.
func canonical(h hash.Hash, params jsontext.Value) {
	f := form{raw: params}
	end, ok := f.value(0, 0)
	if !ok || f.space(end) != len(params) || !utf8.Valid(params) {
		field(h, splice.Without(params, without...))
		return
	}
	length(h, f.size)
	f.out = bufio.NewWriterSize(h, 1<<10)
	f.value(0, 0)
	_ = f.out.Flush() // a hash does not fail
}

// form is a JSON text that is read to be written in its canonical form.
type form struct {
	raw  []byte
	size int           // of what would be written; while out is nil
	out  *bufio.Writer // nil while it is measured
	open []place       // members of the objects that are being read
	// sorted are the members of objects that were not in order, by where the object begins.
	sorted map[int]object
}

// place is where a member stands: its name, and where its value begins.
type place struct{ from, to, value int32 }

type object struct {
	members []place
	end     int
}

// deepest is how deep values may be nested: deeper than what is decoded, and no stack is too small.
const deepest = 1 << 10

func (f *form) put(p []byte) {
	if f.out == nil {
		f.size += len(p)
		return
	}
	_, _ = f.out.Write(p) // a hash does not fail
}

func (f *form) word(s string) {
	if f.out == nil {
		f.size += len(s)
		return
	}
	_, _ = f.out.WriteString(s)
}

func (f *form) space(at int) int {
	for at < len(f.raw) && (f.raw[at] == ' ' || f.raw[at] == '\n' || f.raw[at] == '\r' || f.raw[at] == '\t') {
		at++
	}
	return at
}

// value writes the value at that place, and returns its end.
func (f *form) value(at, depth int) (end int, ok bool) {
	if at = f.space(at); at >= len(f.raw) || depth > deepest {
		return at, false
	}
	switch f.raw[at] {
	case '{':
		return f.object(at, depth)
	case '[':
		return f.array(at, depth)
	case '"':
		if end, ok = stringEnd(f.raw, at); !ok {
			return end, false
		}
		return end, f.text(f.raw[at:end])
	}
	for end = at; end < len(f.raw) && !ends(f.raw[end]); end++ {
	}
	f.put(f.raw[at:end])
	return end, end > at
}

// ends reports whether a byte ends a number or a literal.
func ends(c byte) bool {
	switch c {
	case ',', ':', ']', '}', '"', '[', '{', ' ', '\n', '\r', '\t':
		return true
	}
	return false
}

func (f *form) array(at, depth int) (end int, ok bool) {
	f.put(f.raw[at : at+1])
	at = f.space(at + 1)
	for n := 0; at < len(f.raw); n++ {
		if n == 0 && f.raw[at] == ']' {
			f.put(f.raw[at : at+1])
			return at + 1, true
		}
		if at, ok = f.value(at, depth+1); !ok {
			return at, false
		}
		if at = f.space(at); at >= len(f.raw) || f.raw[at] != ',' && f.raw[at] != ']' {
			return at, false
		}
		f.put(f.raw[at : at+1])
		if at++; f.raw[at-1] == ']' {
			return at, true
		}
	}
	return at, false
}

// object writes an object. Of those in params itself some members are left out.
func (f *form) object(at, depth int) (end int, ok bool) {
	if o, there := f.sorted[at]; there && f.out != nil {
		f.word("{")
		for i, m := range o.members {
			if i > 0 {
				f.word(",")
			}
			f.text(f.raw[m.from:m.to])
			f.word(":")
			f.value(int(m.value), depth+1)
		}
		f.word("}")
		return o.end, true
	}
	start, base, inOrder := at, len(f.open), true
	f.word("{")
	at = f.space(at + 1)
	written := 0
	for n := 0; at < len(f.raw); n++ {
		if n == 0 && f.raw[at] == '}' {
			f.word("}")
			return at + 1, true
		}
		to, ok := stringEnd(f.raw, at)
		if !ok {
			return at, false
		}
		colon := f.space(to)
		if colon >= len(f.raw) || f.raw[colon] != ':' {
			return at, false
		}
		m := place{int32(at), int32(to), int32(colon + 1)}
		if leave := depth == 0 && f.leaves(m); leave {
			quiet := form{raw: f.raw} // it is passed over
			if at, ok = quiet.value(colon+1, depth+1); !ok {
				return at, false
			}
		} else {
			if written++; written > 1 {
				f.word(",")
			}
			if f.out == nil {
				if len(f.open) > base {
					inOrder = inOrder && f.compare(f.open[len(f.open)-1], m) < 0
				}
				f.open = append(f.open, m)
			}
			if !f.text(f.raw[m.from:m.to]) {
				return at, false
			}
			f.word(":")
			if at, ok = f.value(colon+1, depth+1); !ok {
				return at, false
			}
		}
		if at = f.space(at); at >= len(f.raw) || f.raw[at] != ',' && f.raw[at] != '}' {
			return at, false
		}
		if f.raw[at] == '}' {
			f.word("}")
			return at + 1, f.note(start, at+1, base, inOrder)
		}
		at = f.space(at + 1)
	}
	return at, false
}

// note remembers an object whose members were not in order, and reports that no two have one name.
func (f *form) note(start, end, base int, inOrder bool) bool {
	if f.out != nil || inOrder {
		f.open = f.open[:base]
		return true
	}
	members := slices.Clone(f.open[base:])
	f.open = f.open[:base]
	slices.SortFunc(members, f.compare)
	for i := 1; i < len(members); i++ {
		if f.compare(members[i-1], members[i]) == 0 {
			return false
		}
	}
	if f.sorted == nil {
		f.sorted = map[int]object{}
	}
	f.sorted[start] = object{members, end}
	return true
}

func (f *form) leaves(m place) bool {
	return slices.ContainsFunc(without, func(name string) bool { return splice.Equal(f.raw[m.from:m.to], name) })
}

// compare orders names by their UTF-16 (RFC 8785 §3.2.3).
func (f *form) compare(a, b place) int {
	x, y := f.raw[a.from+1:a.to-1], f.raw[b.from+1:b.to-1]
	if plain(x) && plain(y) {
		return bytes.Compare(x, y)
	}
	s, _ := jsontext.AppendUnquote(nil, f.raw[a.from:a.to])
	t, _ := jsontext.AppendUnquote(nil, f.raw[b.from:b.to])
	return slices.Compare(utf16.Encode([]rune(string(s))), utf16.Encode([]rune(string(t))))
}

// plain reports whether a name stands for itself, and its bytes are in the order of its UTF-16.
func plain(name []byte) bool {
	return !slices.ContainsFunc(name, func(c byte) bool { return c == '\\' || c >= 0xee })
}

// text writes a quoted string with as few escapes as there can be.
func (f *form) text(quoted []byte) bool {
	for {
		at := bytes.IndexByte(quoted, '\\')
		if at < 0 {
			f.put(quoted)
			return true
		}
		f.put(quoted[:at])
		quoted = quoted[at:]
		n, ok := f.escape(quoted)
		if !ok {
			return false
		}
		quoted = quoted[n:]
	}
}

// escape writes what the escape at the beginning of p stands for, and returns how long it is.
func (f *form) escape(p []byte) (n int, ok bool) {
	switch n = 2; p[1] {
	case 'u':
		n = 6
	case '/':
		f.word("/")
		return n, true
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		f.put(p[:n])
		return n, true
	default:
		return 0, false
	}
	r, ok := unit(p)
	if utf16.IsSurrogate(r) {
		low, there := unit(p[min(n, len(p)):])
		if r, n = utf16.DecodeRune(r, low), 2*n; !there || r == utf8.RuneError {
			return 0, false
		}
	}
	if !ok {
		return 0, false
	}
	f.char(r)
	return n, true
}

// char writes a character, escaped where it has to be.
func (f *form) char(r rune) {
	short := strings.IndexRune("\b\f\n\r\t\"\\", r)
	switch {
	case short >= 0:
		f.word(`\b\f\n\r\t\"\\`[2*short : 2*short+2])
	case r < ' ':
		f.word(`\u00`)
		f.word("0123456789abcdef"[r>>4 : r>>4+1])
		f.word("0123456789abcdef"[r&15 : r&15+1])
	case f.out == nil:
		f.size += utf8.RuneLen(r)
	default:
		_, _ = f.out.WriteRune(r)
	}
}

// unit is what an escape of the kind \u1234 is for.
func unit(p []byte) (r rune, ok bool) {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return 0, false
	}
	for _, c := range p[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

// stringEnd is the end of the string that begins at that place.
func stringEnd(raw []byte, at int) (end int, ok bool) {
	if at >= len(raw) || raw[at] != '"' {
		return at, false
	}
	for at++; at < len(raw); at++ {
		n := bytes.IndexAny(raw[at:], `"\`)
		if n < 0 {
			break
		}
		if at += n; raw[at] == '"' {
			return at + 1, true
		}
		at++ // what is escaped
	}
	return at, false
}
