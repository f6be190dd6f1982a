package jsonrpc

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// repairStrings replaces lone surrogates and bytes that are not UTF-8 by U+FFFD, as text decoders
// and JSON.parse do. It returns data itself if there are none.
func repairStrings(data []byte) []byte { return repairSurrogates(repairUTF8(data)) }

// repairUTF8 replaces bytes that are not UTF-8, as WHATWG Encoding specifies. One U+FFFD replaces
// each longest prefix of a character, and each other byte.
func repairUTF8(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r != utf8.RuneError || n > 1 {
			out, data = append(out, data[:n]...), data[n:]
			continue
		}
		out, data = append(out, "\uFFFD"...), data[prefixLen(data):]
	}
	return out
}

// prefixLen returns the length of the longest prefix of a character at the beginning of data. It is
// at least 1.
func prefixLen(data []byte) int {
	n := 1
	for n < len(data) && !utf8.FullRune(data[:n+1]) {
		n++
	}
	return n
}

// repairSurrogates replaces each escaped lone surrogate by \ufffd, which has the same length.
func repairSurrogates(data []byte) []byte {
	out := data
	for at := 0; ; {
		next := bytes.IndexByte(data[at:], '\\')
		if next < 0 {
			return out
		}
		at += next
		n := escape(data[at:])
		if n > 0 {
			at += n
			continue
		}
		if _, hex := hex4(data[min(at+2, len(data)):]); hex && data[at+1] == 'u' {
			if &out[0] == &data[0] {
				out = slices.Clone(data)
			}
			copy(out[at:], `\ufffd`)
			at += 6
			continue
		}
		at++ // a broken escape, which cannot be repaired
		if at < len(data) {
			at++
		}
	}
}
