package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner passes over JSON text once and refuses what is not strict JSON or exceeds the limits. It makes no values: whoever wants one
// takes the span that was passed.
type scanner struct {
	data   []byte
	limits Limits
	pos    int
	last   int // the end of the value passed last, before any space after it
	tokens int
	keys   []key // names of the objects that are open, the innermost object's last
	err    *DecodeError
}

// span is a part of the input.
type span struct{ from, to int }

// given reports that there is such a part: none that is looked at ends at byte 0.
func (p span) given() bool { return p.to > 0 }

// key is the name of a member: what stands between its quotes. It is small, because there is an array of them for every message.
type key struct {
	from, to uint32
	escaped  bool
}

// manyKeys is the number of members from which on an object's names are hashed. Below it, comparing is faster.
const manyKeys = 16

// fail records the first error.
func (s *scanner) fail(reason Reason, at int, detail string) bool {
	if s.err == nil {
		code := int64(CodeInvalidRequest)
		if reason == ReasonParse {
			code = CodeParse
		}
		s.err = &DecodeError{Code: code, Reason: reason, Detail: detail, Offset: at}
	}
	return false
}

// broken records a syntax error at the current byte.
func (s *scanner) broken(want string) bool {
	if s.pos >= len(s.data) {
		return s.fail(ReasonParse, len(s.data), "the text ends where "+want+" should be")
	}
	return s.fail(ReasonParse, s.pos, fmt.Sprintf("%q where %s should be", s.data[s.pos], want))
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// peek is the current byte, 0 at the end. A zero byte is legal nowhere outside strings.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// end refuses anything after the last value.
func (s *scanner) end() bool {
	s.space()
	if s.pos < len(s.data) {
		return s.broken("the end of the text")
	}
	return true
}

func (s *scanner) token() bool {
	s.tokens++
	if s.tokens > s.limits.Tokens {
		return s.fail(ReasonLimits, s.pos, fmt.Sprintf("more than %d tokens", s.limits.Tokens))
	}
	return true
}

// value passes over one value. Depth is the depth that an object or array here would have.
func (s *scanner) value(depth int) bool {
	if !s.token() {
		return false
	}
	ok := false
	switch c := s.peek(); {
	case c == '"':
		_, ok = s.text()
	case c == '{':
		ok = s.object(depth)
	case c == '[':
		ok = s.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		ok = s.number()
	case c == 't':
		ok = s.literal("true")
	case c == 'f':
		ok = s.literal("false")
	case c == 'n':
		ok = s.literal("null")
	default:
		ok = s.broken("a value")
	}
	s.last = s.pos
	return ok
}

func (s *scanner) literal(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail(ReasonParse, s.pos, "an unknown word where a value should be")
	}
	s.pos += len(word)
	return true
}

func (s *scanner) open(depth int) bool {
	if depth > s.limits.Depth {
		return s.fail(ReasonLimits, s.pos, fmt.Sprintf("deeper than %d", s.limits.Depth))
	}
	s.pos++
	s.space()
	return true
}

func (s *scanner) array(depth int) bool {
	if !s.open(depth) {
		return false
	}
	if s.peek() == ']' {
		s.pos++
		return s.token()
	}
	for {
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case ']':
			s.pos++
			return s.token()
		default:
			return s.broken("',' or ']'")
		}
	}
}

func (s *scanner) object(depth int) bool {
	if !s.open(depth) {
		return false
	}
	names := names{first: len(s.keys)}
	more := s.peek() != '}'
	for more {
		if _, ok := s.name(&names); !ok || !s.value(depth+1) {
			return false
		}
		if more = s.comma(); s.err != nil {
			return false
		}
	}
	return s.shut(&names)
}

// comma passes over what stands between two members and reports whether another one follows.
func (s *scanner) comma() bool {
	s.space()
	switch s.peek() {
	case ',':
		s.pos++
		s.space()
		return true
	case '}':
		return false
	}
	return s.broken("',' or '}'")
}

// shut passes over the end of an object and forgets its names.
func (s *scanner) shut(n *names) bool {
	s.pos++
	s.keys = s.keys[:n.first]
	return s.token()
}

// names are the members seen so far of one open object: those in keys from first on.
type names struct {
	first int
	seed  maphash.Seed
	seen  map[uint64]struct{} // hashes, from manyKeys members on
}

// name passes over a member's name and the colon, and refuses a name the object has already.
func (s *scanner) name(n *names) (key, bool) {
	start := s.pos
	if s.peek() != '"' {
		return key{}, s.broken("a member's name")
	}
	if !s.token() {
		return key{}, false
	}
	k, ok := s.text()
	if !ok {
		return key{}, false
	}
	open := s.keys[n.first:]
	if len(open) >= s.limits.Keys {
		return key{}, s.fail(ReasonLimits, start, fmt.Sprintf("more than %d members", s.limits.Keys))
	}
	if s.duplicate(n, open, k) {
		name := s.unquoted(k)
		return key{}, s.fail(ReasonParse, start, fmt.Sprintf("a second member %q", name[:min(len(name), 64)]))
	}
	s.keys = append(s.keys, k)
	s.space()
	if s.peek() != ':' {
		return key{}, s.broken("':'")
	}
	s.pos++
	s.space()
	return k, true
}

func (s *scanner) duplicate(n *names, open []key, k key) bool {
	if len(open) < manyKeys {
		return s.among(open, k)
	}
	if n.seen == nil {
		// The seed is fresh, so nobody can prepare names that collide.
		n.seed, n.seen = maphash.MakeSeed(), make(map[uint64]struct{}, 4*manyKeys)
		for _, o := range open {
			n.seen[maphash.Bytes(n.seed, s.unquoted(o))] = struct{}{}
		}
	}
	h := maphash.Bytes(n.seed, s.unquoted(k))
	if _, ok := n.seen[h]; ok && s.among(open, k) {
		return true
	}
	n.seen[h] = struct{}{}
	return false
}

func (s *scanner) among(open []key, k key) bool {
	name := s.unquoted(k)
	for _, o := range open {
		if bytes.Equal(s.unquoted(o), name) {
			return true
		}
	}
	return false
}

// unquoted is a name without its escapes. It allocates only when there are any.
func (s *scanner) unquoted(k key) []byte {
	if !k.escaped {
		return s.data[k.from:k.to]
	}
	name, _ := jsontext.AppendUnquote(nil, s.data[k.from-1:k.to+1]) // text has passed over it: it is valid
	return name
}

// text passes over a string and gives what stands between its quotes.
func (s *scanner) text() (key, bool) {
	start := s.pos
	k := key{from: uint32(start + 1)}
	data := s.data
	i := start + 1
	for {
		for i+8 <= len(data) && allPlain(binary.LittleEndian.Uint64(data[i:])) {
			i += 8
		}
		for i < len(data) && plain[data[i]] {
			i++
		}
		if i >= len(data) {
			return k, s.fail(ReasonParse, start, "a string without end")
		}
		switch c := data[i]; {
		case c == '"':
			k.to, s.pos = uint32(i), i+1
			return k, true
		case c == '\\':
			k.escaped = true
			n := escape(data[i:])
			if n == 0 {
				return k, s.fail(ReasonParse, i, "a broken escape or a lone surrogate")
			}
			i += n
		case c < ' ':
			return k, s.fail(ReasonParse, i, fmt.Sprintf("control character %#02x in a string", c))
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return k, s.fail(ReasonParse, i, "invalid UTF-8 in a string")
			}
			i += n
		}
	}
}

// allPlain looks at eight bytes at once. A byte that is not plain sets its highest bit: itself, or by borrowing in a subtraction.
func allPlain(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	return (x|(x-each*' ')|((x^each*'"')-each)|((x^each*'\\')-each))&high == 0
}

// plain are the bytes of a string that stand for themselves and need no further look.
var plain = func() (t [256]bool) {
	for c := range 0x80 {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// escape is the length of the escape sequence at the beginning of b, 0 if it is none. A surrogate is legal only in a pair.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	r, ok := hex4(b[2:])
	switch {
	case !ok, 0xDC00 <= r && r <= 0xDFFF:
		return 0
	case r < 0xD800 || r > 0xDFFF:
		return 6
	}
	if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
		return 0
	}
	if low, ok := hex4(b[8:]); !ok || low < 0xDC00 || low > 0xDFFF {
		return 0
	}
	return 12
}

func hex4(b []byte) (r uint32, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | uint32(c)
	}
	return r, true
}

// number passes over a number; it is never converted, so it keeps every digit.
func (s *scanner) number() bool {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return false
		}
	}
	if s.pos-start > s.limits.Digits {
		return s.fail(ReasonLimits, start, fmt.Sprintf("a number longer than %d bytes", s.limits.Digits))
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		return s.broken("a digit")
	}
	return true
}
