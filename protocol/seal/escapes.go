package seal

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// text writes the string that begins there with the fewest possible escapes, and returns its end.
func (f *canonicalForm) text(w io.Writer, from int) (end int) {
	for at := from + 1; ; {
		at += bytes.IndexAny(f.raw[at:], `"\`)
		switch {
		case f.raw[at] == '"':
			_, _ = w.Write(f.raw[from : at+1])
			return at + 1
		case f.raw[at+1] != 'u' && f.raw[at+1] != '/': // there is no shorter form
			at += 2
		default:
			_, _ = w.Write(f.raw[from:at])
			at += f.escapes(w, at)
			from = at
		}
	}
}

// escapes writes the consecutive escapes that begin there, and returns their length in the text.
func (f *canonicalForm) escapes(w io.Writer, at int) (n int) {
	// All of them at once could be as long as a large request.
	const enough = 1 << 10
	for n < enough && f.raw[at+n] == '\\' {
		n += escape(f.raw[at+n:])
	}
	f.quoted = append(append(append(f.quoted[:0], '"'), f.raw[at:at+n]...), '"')
	f.plain, _ = jsontext.AppendUnquote(f.plain[:0], f.quoted) // read has validated the text
	f.quoted, _ = jsontext.AppendQuote(f.quoted[:0], f.plain)
	_, _ = w.Write(f.quoted[1 : len(f.quoted)-1])
	return n
}

// escape returns the length of the escape at the beginning of p. A pair of surrogates counts as one
// escape.
func escape(p []byte) int {
	switch {
	case p[1] != 'u':
		return 2
	case p[2]|0x20 == 'd' && p[3] >= '8':
		return 12
	}
	return 6
}
