package jsonrpc

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner passes over JSON text once and refuses what is not strict JSON or exceeds the limits. It
// makes no values: whoever wants one takes the span that was passed.
type scanner struct {
	data   []byte
	limits Limits
	pos    int
	last   int // the end of the value passed last, before any space after it
	tokens int
	keys   keys   // names of the objects that are open, the innermost object's last
	texts  []byte // what those of them mean that are written with escapes
	spare  []map[uint64]struct{}
	seed   maphash.Seed
	err    *DecodeError
	depth  int    // of the objects whose members are noted: params and results
	long   []span // those of their values that are long
	met    names  // the names of all
}

// span is a part of the input.
type span struct{ from, to int }

// given reports that there is such a part: none that is looked at ends at byte 0.
func (p span) given() bool { return p.to > 0 }

// key is the name of a member: what stands between its quotes, or in scanner.texts if it has
// escapes. It is small, because there is an array of them for every message.
type key struct {
	from, to uint32
	sum      uint32 // of the length and three bytes; names with different sums differ
	escaped  bool
}

// keys is a stack of names. The first of them need no memory of their own.
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

// cut keeps the first n.
func (s *keys) cut(n int) { s.n, s.more = n, s.more[:max(0, n-manyKeys)] }

const (
	// manyKeys is the number of members from which on an object's names are hashed. Below it,
	// comparing is faster.
	manyKeys = 16
	// maxSpare is the number of members up to which an object's set of names is kept for the next
	// one. Clearing a larger one would cost more than making it.
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
	names := s.names()
	more := s.peek() != '}'
	for more {
		name, ok := s.name(&names)
		if !ok {
			return false
		}
		from := s.pos
		if !s.value(depth + 1) {
			return false
		}
		if depth == s.depth {
			s.met |= bit(name.sum)
			if s.last-from >= LongMember && string(s.meant(name)) != "_meta" {
				s.long = append(s.long, span{from, s.last})
			}
		}
		if more = s.comma(); s.err != nil {
			return false
		}
	}
	return s.shut(&names)
}

// comma passes over what stands between two members and reports whether another one follows.
func (s *scanner) comma() bool { return s.another('}') }

// another is comma for what ends with end.
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

// shut passes over the end of an object and forgets its names.
func (s *scanner) shut(n *members) bool {
	s.pos++
	if n.seen != nil && s.keys.n-n.first <= maxSpare {
		clear(n.seen)
		s.spare = append(s.spare, n.seen)
	}
	s.keys.cut(n.first)
	s.texts = s.texts[:n.texts]
	return s.token()
}

// members are those seen so far of one open object: those in keys from first on.
type members struct {
	first, texts int
	seen         map[uint64]struct{} // hashes, from manyKeys members on
}

// names begins an object.
func (s *scanner) names() members { return members{first: s.keys.n, texts: len(s.texts)} }

// name passes over a member's name and the colon, and refuses a name the object has already.
func (s *scanner) name(n *members) (key, bool) {
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
	s.settle(&k)
	if s.keys.n-n.first >= s.limits.Keys {
		return key{}, s.fail(
			ReasonLimits,
			start,
			fmt.Sprintf("more than %d members", s.limits.Keys),
		)
	}
	if s.duplicate(n, k) {
		name := s.meant(k)
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
		return s.among(n.first, k)
	}
	if n.seen == nil {
		n.seen = s.set()
		for i := n.first; i < s.keys.n; i++ {
			n.seen[s.hash(*s.keys.at(i))] = struct{}{}
		}
	}
	h := s.hash(k)
	if _, ok := n.seen[h]; ok && s.among(n.first, k) {
		return true
	}
	n.seen[h] = struct{}{}
	return false
}

// set is an empty set, from an object before if there was one.
func (s *scanner) set() map[uint64]struct{} {
	if last := len(s.spare) - 1; last >= 0 {
		set := s.spare[last]
		s.spare = s.spare[:last]
		return set
	}
	return make(map[uint64]struct{}, 4*manyKeys)
}

// hash is of the name as it is meant. The seed is fresh for each message, so nobody can prepare
// names that collide.
func (s *scanner) hash(k key) uint64 {
	if s.seed == (maphash.Seed{}) {
		s.seed = maphash.MakeSeed()
	}
	return maphash.Bytes(s.seed, s.meant(k))
}

// among reports whether one of the names from first on is that of k.
func (s *scanner) among(first int, k key) bool {
	for i := first; i < s.keys.n; i++ {
		if o := s.keys.at(i); o.sum == k.sum && bytes.Equal(s.meant(*o), s.meant(k)) {
			return true
		}
	}
	return false
}

// meant is a name without its escapes.
func (s *scanner) meant(k key) []byte {
	if k.escaped {
		return s.texts[k.from:k.to]
	}
	return s.data[k.from:k.to]
}

// settle finds out what a name means, once for all comparisons.
func (s *scanner) settle(k *key) {
	if k.escaped {
		from := len(s.texts)
		// text has passed over it: it is valid
		s.texts, _ = jsontext.AppendUnquote(s.texts, s.data[k.from-1:k.to+1])
		k.from, k.to = uint32(from), uint32(len(s.texts))
	}
	k.sum = sum(s.meant(*k))
}
