package jsonrpc

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner passes once over JSON text, and refuses text that is not strict JSON or exceeds the
// limits. It creates no values; its users take the span of a value that it has passed.
type scanner struct {
	data      []byte
	limits    Limits
	pos       int
	last      int // end of the last value passed, without the space after it
	tokens    int
	keys      keys   // names of the open objects, those of the innermost object last
	texts     []byte // the unescaped form of names that contain escapes
	freeSets  []map[uint64]struct{}
	seed      maphash.Seed
	err       *DecodeError
	depth     int     // depth of the objects whose members are recorded: params and results
	long      []span  // spans of the long values in those objects
	seenNames nameSet // the names in those objects
}

// span is a part of the input.
type span struct{ from, to int }

// given reports whether the part exists. No part of interest ends at byte 0.
func (p span) given() bool { return p.to > 0 }

// key is the name of a member. It is a span of the input between the quotes, or of scanner.texts if
// the name has escapes. It is small, because every message has an array of keys.
type key struct {
	from, to uint32
	sum      uint32 // computed from the length and three bytes; names with different sums differ
	escaped  bool
}

// keys is a stack of names. The first manyKeys names need no allocation.
type keys struct {
	n    int
	few  [manyKeys]key
	more []key
}

func (s *keys) push(k key) {
	if s.n < manyKeys {
		s.few[s.n] = k
	} else {
		s.more = append(s.more, k)
	}
	s.n++
}

func (s *keys) at(i int) *key {
	if i < manyKeys {
		return &s.few[i]
	}
	return &s.more[i-manyKeys]
}

// cut keeps the first n names.
func (s *keys) cut(n int) { s.n, s.more = n, s.more[:max(0, n-manyKeys)] }

const (
	// manyKeys is the number of members from which on the names of an object are hashed. Below it,
	// comparisons are faster.
	manyKeys = 16
	// maxSpare is the number of members up to which the set of an object's names is reused for another
	// object. Clearing a larger set would cost more than creating a new one.
	maxSpare = 256
)

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

// peek returns the current byte, or 0 at the end. A zero byte is not valid outside strings.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// end refuses any input after the last value.
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

// value skips one value. Depth is the depth of that value if it is an object or an array.
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
	names := s.names()
	more := s.peek() != '}'
	for more {
		name, ok := s.readName(&names)
		if !ok {
			return false
		}
		from := s.pos
		if !s.value(depth + 1) {
			return false
		}
		if depth == s.depth {
			s.seenNames |= nameBit(name.sum)
			if s.last-from >= LongMember && string(s.name(name)) != "_meta" {
				s.long = append(s.long, span{from, s.last})
			}
		}
		if more = s.comma(); s.err != nil {
			return false
		}
	}
	return s.closeObject(&names)
}

// comma skips the separator between two members, and reports whether another member follows.
func (s *scanner) comma() bool { return s.another('}') }

// another is comma for an object or array that ends with the byte end.
func (s *scanner) another(end byte) bool {
	s.space()
	switch s.peek() {
	case ',':
		s.pos++
		s.space()
		return true
	case end:
		return false
	}
	return s.broken("',' or '" + string(end) + "'")
}

// closeObject skips the end of an object and removes its names from the stack.
func (s *scanner) closeObject(n *members) bool {
	s.pos++
	if n.seen != nil && s.keys.n-n.first <= maxSpare {
		clear(n.seen)
		s.freeSets = append(s.freeSets, n.seen)
	}
	s.keys.cut(n.first)
	s.texts = s.texts[:n.texts]
	return s.token()
}

// members describes the members seen so far of one open object. Their names are in keys from first
// on.
type members struct {
	first, texts int
	seen         map[uint64]struct{} // hashes, from manyKeys members on
}

// names starts an object.
func (s *scanner) names() members { return members{first: s.keys.n, texts: len(s.texts)} }

// readName skips a member's name and the colon. It refuses a name that the object already has.
func (s *scanner) readName(n *members) (key, bool) {
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
	s.unescapeName(&k)
	if s.keys.n-n.first >= s.limits.Keys {
		return key{}, s.fail(
			ReasonLimits,
			start,
			fmt.Sprintf("more than %d members", s.limits.Keys),
		)
	}
	if s.duplicate(n, k) {
		name := s.name(k)
		return key{}, s.fail(
			ReasonParse,
			start,
			fmt.Sprintf("a second member %q", name[:min(len(name), 64)]),
		)
	}
	s.keys.push(k)
	s.space()
	if s.peek() != ':' {
		return key{}, s.broken("':'")
	}
	s.pos++
	s.space()
	return k, true
}

func (s *scanner) duplicate(n *members, k key) bool {
	if s.keys.n-n.first < manyKeys {
		return s.hasName(n.first, k)
	}
	if n.seen == nil {
		n.seen = s.set()
		for i := n.first; i < s.keys.n; i++ {
			n.seen[s.hash(*s.keys.at(i))] = struct{}{}
		}
	}
	h := s.hash(k)
	if _, ok := n.seen[h]; ok && s.hasName(n.first, k) {
		return true
	}
	n.seen[h] = struct{}{}
	return false
}

// set returns an empty set, which may be reused from an earlier object.
func (s *scanner) set() map[uint64]struct{} {
	if last := len(s.freeSets) - 1; last >= 0 {
		set := s.freeSets[last]
		s.freeSets = s.freeSets[:last]
		return set
	}
	return make(map[uint64]struct{}, 4*manyKeys)
}

// hash returns the hash of the unescaped name. The seed is new for each message, so that an
// attacker cannot prepare names that collide.
func (s *scanner) hash(k key) uint64 {
	if s.seed == (maphash.Seed{}) {
		s.seed = maphash.MakeSeed()
	}
	return maphash.Bytes(s.seed, s.name(k))
}

// hasName reports whether a name from index first on equals k.
func (s *scanner) hasName(first int, k key) bool {
	for i := first; i < s.keys.n; i++ {
		if o := s.keys.at(i); o.sum == k.sum && bytes.Equal(s.name(*o), s.name(k)) {
			return true
		}
	}
	return false
}

// name returns a name without its escapes.
func (s *scanner) name(k key) []byte {
	if k.escaped {
		return s.texts[k.from:k.to]
	}
	return s.data[k.from:k.to]
}

// unescapeName unescapes a name once, for all comparisons, and computes its sum.
func (s *scanner) unescapeName(k *key) {
	if k.escaped {
		from := len(s.texts)
		// The scanner has passed the text, so it is valid.
		s.texts, _ = jsontext.AppendUnquote(s.texts, s.data[k.from-1:k.to+1])
		k.from, k.to = uint32(from), uint32(len(s.texts))
	}
	k.sum = nameSum(s.name(*k))
}
