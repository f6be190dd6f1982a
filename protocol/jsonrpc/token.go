package jsonrpc

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// text skips a string and returns the span between its quotes.
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

// allPlain reports whether eight bytes are all plain. A byte that is not plain sets its own highest
// bit, either directly or by a borrow in one of the subtractions.
func allPlain(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	return (x|(x-each*' ')|((x^each*'"')-each)|((x^each*'\\')-each))&high == 0
}

// plain marks the bytes of a string that represent themselves and need no further check.
var plain = func() (t [256]bool) {
	for c := range 0x80 {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// escape returns the length of the escape sequence at the beginning of b, or 0 if there is none. A
// surrogate is valid only in a pair.
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

// number skips a number. It does not convert the number, so no digit is lost.
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
