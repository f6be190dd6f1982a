package streamable

import (
	"strconv"
	"strings"
)

// endLine processes the LF of a line. Everything else of the line was checked before.
func (f *framing) endLine() bool {
	switch f.at {
	case blankLF:
		f.at = beforeLine
	case requestLF:
		f.at = fieldStart
	case fieldLF:
		f.at = fieldStart
		return f.named == 0 || !f.trailer && f.length()
	case headLF:
		if f.trailer {
			f.trailer, f.at = false, beforeLine
			return true
		}
		return f.head()
	case chunkSizeLF:
		if f.at = chunkBytes; f.left == 0 {
			f.at, f.trailer = fieldStart, true
		}
	case chunkLF:
		f.at, f.digits = chunkSize, 0
	}
	return true
}

// length processes a field that determines where the body ends.
func (f *framing) length() bool {
	if f.valued > len(f.value) {
		return false
	}
	value := f.value[:f.valued]
	if f.named == len(transferEncoding) {
		f.codings++
		f.unknown = !strings.EqualFold(string(value), "chunked")
		return f.codings == 1
	}
	f.lengths++
	for _, b := range value {
		if b < '0' || b > '9' {
			return false
		}
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	f.left = n
	return f.lengths == 1 && err == nil
}

// head processes the end of a head. The head must define the end of its body in at most one way. A
// request of another version is the HTTP/2 preface or the last request of its connection, which
// net/http handles.
func (f *framing) head() bool {
	proto := string(f.proto[:])
	one := f.protocol == len(f.proto) && proto == http11
	switch {
	case !strings.HasPrefix(proto, "HTTP/1."):
		f.at = elsewhere
	case !one && (proto != "HTTP/1.0" || f.protocol != len(f.proto)):
		return false
	case f.unknown && one && f.lengths == 0: // net/http answers 501 and closes the connection
		f.at = elsewhere
	case f.codings > 0 && (!one || f.lengths > 0): // HTTP/1.0 has no codings (RFC 9112 §6.1)
		return false
	case f.codings > 0:
		f.at = chunkSize
	case f.left > 0:
		f.at = bodyBytes
	default:
		f.at = beforeLine
	}
	return true
}

// chunk processes a byte of the line before a chunk. It ignores everything after the size.
func (f *framing) chunk(b byte) bool {
	switch {
	case b == '\r':
		f.at = chunkSizeLF
		return f.digits > 0
	case f.at == chunkExtension:
		return bytesOf[b]&inValue != 0
	case b == ';':
		f.at = chunkExtension
		return f.digits > 0
	}
	digit, err := strconv.ParseUint(string(rune(b)), 16, 4)
	if f.digits == 0 {
		f.left = 0
	}
	f.left = f.left<<4 | int64(digit)
	f.digits++
	return err == nil && f.digits <= maxChunkDigits
}

// skip consumes up to n bytes of a body or a chunk, and returns how many.
func (f *framing) skip(n int64) int {
	if n < f.left {
		f.left -= n
		return int(n)
	}
	n, f.left = f.left, 0
	if f.at == chunkBytes {
		f.at = chunkCR
	} else {
		f.at = beforeLine
	}
	return int(n)
}
