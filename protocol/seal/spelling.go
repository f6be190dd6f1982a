package seal

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// text writes the string that begins there with as few escapes as there can be, and returns its
// end.
func (f *form) text(w io.Writer, from int) (end int) {
	for at := from + 1; ; {
		at += bytes.IndexAny(f.raw[at:], `"\`)
		switch {
		case f.raw[at] == '"':
			_, _ = w.Write(f.raw[from : at+1])
			return at + 1
		case f.raw[at+1] != 'u' && f.raw[at+1] != '/': // there is no shorter way to say it
			at += 2
		default:
			_, _ = w.Write(f.raw[from:at])
			at += f.escapes(w, at)
			from = at
		}
	}
}

// escapes writes the escapes that begin there, as many as follow each other, and returns how long
// they are in the text.
func (f *form) escapes(w io.Writer, at int) (n int) {
	const enough = 1 << 10 // a copy of them all would be one of a large request
	for n < enough && f.raw[at+n] == '\\' {
		n += escape(f.raw[at+n:])
	}
	f.quoted = append(append(append(f.quoted[:0], '"'), f.raw[at:at+n]...), '"')
	f.plain, _ = jsontext.AppendUnquote(f.plain[:0], f.quoted) // read has checked it
	f.quoted, _ = jsontext.AppendQuote(f.quoted[:0], f.plain)
	_, _ = w.Write(f.quoted[1 : len(f.quoted)-1])
	return n
}

// escape is how long the escape is that p begins with. A character of two surrogates is one.
func escape(p []byte) int {
	switch {
	case p[1] != 'u':
		return 2
	case p[2]|0x20 == 'd' && p[3] >= '8':
		return 12
	}
	return 6
}
