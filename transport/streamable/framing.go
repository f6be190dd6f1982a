package streamable

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// errFraming is the error of a connection whose requests are framed in a way that two readers may
// understand differently. net/http answers it with 400 while it waits for a request.
var errFraming = errors.New("the request is framed ambiguously")

// framing follows the requests of one HTTP/1 connection byte by byte as they arrive. net/http
// tolerates or silently corrects some ambiguities: a Content-Length in addition to
// Transfer-Encoding, repeated lengths, folded lines, line ends without CR. A proxy in front that
// reads them differently would see other requests than this host does (request smuggling, RFC 9112
// §11.2). framing therefore treats them as faults. The zero value waits for the first request.
type framing struct {
	at    place
	blank uint8 // empty lines before the request line

	name     [len(transferEncoding)]byte // the beginning of the field's name, in lower case
	named    int                         // length of the whole name
	value    [maxLength]byte             // the beginning of a relevant value, without leading space
	valued   int                         // length of the value, without surrounding space
	spaced   int                         // spaces after it, until another byte follows
	spaces   uint8                       // spaces in the request line
	proto    [len(http11)]byte           // the last part of the request line
	protocol int

	lengths, codings int   // fields of each kind in this head
	unknown          bool  // the coding is not chunked
	left             int64 // remaining bytes of the body or of the chunk
	digits           int   // digits of the chunk's size
	trailer          bool  // the fields follow the body
}

const (
	contentLength    = "content-length"
	transferEncoding = "transfer-encoding"
	// maxLength is the maximum number of digits of a length. It prevents overflow.
	maxLength = 18
	// maxChunkDigits is the same for the size of a chunk, in hexadecimal.
	maxChunkDigits = 15
	// maxBlank is the maximum number of empty lines before a request: one, and the line end that some
	// clients send after the body of the previous request.
	maxBlank = 2
)

// place is the position of the next byte in a request.
type place uint8

const (
	beforeLine place = iota
	blankLF          // of an empty line before it
	requestLine
	requestLF
	fieldStart
	fieldName
	fieldValue
	fieldLF
	headLF // of the empty line that ends a head or a trailer
	bodyBytes
	chunkSize
	chunkExtension
	chunkSizeLF
	chunkBytes
	chunkCR
	chunkLF
	elsewhere // the rest is not HTTP/1
)

// The syntactic roles that a byte may have.
const (
	inName  = 1 << iota // the name of a field: a token (RFC 9110 §5.6.2)
	inValue             // the value of a field, or a request line
)

var bytesOf = func() (table [256]uint8) {
	for b := range 256 {
		if b >= ' ' && b != 0x7f || b == '\t' {
			table[b] |= inValue
		}
		if b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			table[b] |= inName
		}
	}
	for _, b := range []byte("!#$%&'*+-.^_`|~") {
		table[b] |= inName
	}
	return table
}()

// scan checks the next bytes. It returns how many of them are valid, and whether the byte after
// them is a fault. If the head of a request has a fault, sound ends before that head if the head
// began in p, and is -1 if it began earlier.
func (f *framing) scan(p []byte) (sound int, fault bool) {
	head := -1 // where in p the head began
	for i := 0; i < len(p); i++ {
		b := p[i]
		switch f.at {
		case beforeLine:
			head = i
			fault = !f.begin(b)
		case requestLine:
			fault = !f.line(b)
		case fieldStart:
			// Nearly all lines arrive whole, and this path is several times faster.
			if end := bytes.IndexByte(p[i:], '\n'); end > 0 && p[i+end-1] == '\r' {
				if fault = !f.wholeField(p[i : i+end-1]); !fault {
					i += end
				}
			} else {
				fault = !f.field(b)
			}
		case fieldName:
			fault = !f.nameByte(b)
		case fieldValue:
			if n := f.unread(p[i:]); n > 0 {
				i += n - 1
			} else {
				fault = !f.valueByte(b)
			}
		case blankLF, requestLF, fieldLF, headLF, chunkSizeLF, chunkLF:
			fault = b != '\n' || !f.endLine()
		case bodyBytes, chunkBytes:
			i += f.skip(int64(len(p)-i)) - 1
		case chunkCR:
			f.at, fault = chunkLF, b != '\r'
		case elsewhere:
			return len(p), false
		case chunkSize, chunkExtension:
			fault = !f.chunk(b)
		}
		switch {
		case fault && f.inBody():
			return i, true
		case fault:
			return head, true
		}
	}
	return len(p), false
}

// emptyLines returns the number of bytes at the start of p that are empty lines before a request.
func (f *framing) emptyLines(p []byte) (n int) {
	for at := f.at; n < len(p); n++ {
		switch {
		case at == beforeLine && p[n] == '\r':
			at = blankLF
		case at == blankLF && p[n] == '\n':
			at = beforeLine
		default:
			return n
		}
	}
	return n
}

// inBody reports whether the position is after a head, so that its request is being served.
func (f *framing) inBody() bool { return f.at >= bodyBytes || f.trailer }

// begin processes the first byte of a request, or of an empty line before it.
func (f *framing) begin(b byte) bool {
	if b == '\r' {
		f.at = blankLF
		f.blank++
		return f.blank <= maxBlank
	}
	*f = framing{at: requestLine}
	return f.line(b)
}

func (f *framing) line(b byte) bool {
	switch {
	case b == '\r':
		f.at = requestLF
		return f.spaces == 2
	case bytesOf[b]&inValue == 0 || b == '\t':
		return false
	case b == ' ':
		f.spaces++
		return f.spaces <= 2
	case f.spaces == 2:
		if f.protocol < len(f.proto) {
			f.proto[f.protocol] = b
		}
		f.protocol++
	}
	return true
}

// field processes the first byte of a field, or the end of a head. It rejects a line that begins
// with a space (obs-fold).
func (f *framing) field(b byte) bool {
	if b == '\r' {
		f.at = headLF
		return true
	}
	f.at, f.named, f.valued, f.spaced = fieldName, 0, 0, 0
	return b != ':' && f.nameByte(b)
}

// wholeField processes a line of a head or a trailer without its line end. It does what field,
// nameByte, valueByte and endLine do byte by byte.
func (f *framing) wholeField(line []byte) bool {
	if len(line) == 0 {
		f.at = headLF
		return f.endLine()
	}
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !all(line[:colon], inName) || !isText(line[colon+1:]) {
		return false
	}
	switch name := line[:colon]; {
	case colon == len(contentLength) && bytes.EqualFold(name, []byte(contentLength)):
	case colon == len(transferEncoding) && bytes.EqualFold(name, []byte(transferEncoding)):
	default:
		return true
	}
	f.named = colon
	value := bytes.Trim(line[colon+1:], " \t")
	f.valued = len(value)
	copy(f.value[:], value)
	return !f.trailer && f.length()
}

// isText reports whether all bytes are valid in a value. It checks eight bytes at a time unless one
// is a control character.
func isText(p []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for len(p) >= 8 {
		w := binary.LittleEndian.Uint64(p)
		del := w ^ 0x7f*ones
		if ((w-' '*ones)&^w|(del-ones)&^del)&tops != 0 && !all(p[:8], inValue) {
			return false
		}
		p = p[8:]
	}
	return all(p, inValue)
}

// all reports whether each byte of p has the given role.
func all(p []byte, of uint8) bool {
	for _, b := range p {
		of &= bytesOf[b]
	}
	return of != 0
}

func (f *framing) nameByte(b byte) bool {
	if b == ':' {
		f.at = fieldValue
		switch {
		case f.named == len(contentLength) && string(f.name[:len(contentLength)]) == contentLength:
		case f.named == len(transferEncoding) && string(f.name[:]) == transferEncoding:
		default:
			f.named = 0
		}
		return true
	}
	if f.named < len(f.name) {
		f.name[f.named] = b
		if b >= 'A' && b <= 'Z' {
			f.name[f.named] = b + 'a' - 'A'
		}
	}
	f.named++
	return bytesOf[b]&inName != 0
}

// unread returns how many of the next bytes belong to a value that is not relevant. Processing such
// long values byte by byte would cost too much time.
func (f *framing) unread(p []byte) (n int) {
	for f.named == 0 && n < len(p) && bytesOf[p[n]]&inValue != 0 {
		n++
	}
	return n
}

func (f *framing) valueByte(b byte) bool {
	switch {
	case b == '\r':
		f.at = fieldLF
		return true
	case bytesOf[b]&inValue == 0:
		return false
	case b == ' ' || b == '\t':
		if f.valued > 0 {
			f.spaced++
		}
		return true
	case f.named == 0:
		return true
	}
	f.valued += f.spaced // a space within the value, which no valid value has
	if f.spaced = 0; f.valued < len(f.value) {
		f.value[f.valued] = b
	}
	f.valued++
	return true
}
