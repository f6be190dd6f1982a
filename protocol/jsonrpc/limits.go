package jsonrpc

import "math"

// Limits bounds the input of Decode. A zero field stands for the default of the same name, so the
// zero Limits is safe.
type Limits struct {
	Bytes  int // bytes of the whole input; default 4 MiB
	Depth  int // nested objects and arrays, including the message itself; default 64
	Tokens int // names, values, and the ends of objects and arrays; default 1,048,576
	Keys   int // members of one object; default 10,000
	Digits int // bytes of one number; default 4300
	ID     int // bytes of an id, without the quotes of a string; default 256
	Method int // bytes of a method name; default 256
	Batch  int // messages in one batch; default 50
}

// The defaults of Limits.
const (
	// DefaultBytes is the default of the official Go SDK: 4 MiB.
	DefaultBytes = 4 << 20
	// DefaultDepth is far above the depth of the published schemas, which is at most 12. Recursion to
	// this depth fits on one page of a goroutine's stack.
	DefaultDepth = 64
	// DefaultTokens bounds the work for one body, not real payloads. 4 MiB of "0," have two million
	// tokens.
	DefaultTokens = 1 << 20
	// DefaultKeys bounds the memory for duplicate detection, which holds every name of an open object.
	DefaultKeys = 10_000
	// DefaultDigits is the limit of CPython, which refuses longer integers because it parses them in
	// quadratic time.
	DefaultDigits = 4300
	// DefaultID is in bytes; a UUID has 36. An id is kept while its request is in flight.
	DefaultID = 256
	// DefaultMethod is in bytes; the longest published name has 40. It is small because errors repeat
	// unknown names.
	DefaultMethod = 256
	// DefaultBatch limits the work that one array can cause.
	DefaultBatch = 50
)

// LongMember is the size from which an outline elides a value, in bytes: 64 KiB. Values of that
// size are arguments and contents, which the host never reads in part.
const LongMember = 64 << 10

// maxBytes is the largest size whose positions fit into a key. The ceiling of the configurable
// bounds is far below.
const maxBytes = math.MaxInt32

// orDefaults replaces zero fields by their defaults.
func (l Limits) orDefaults() Limits {
	return Limits{
		Bytes:  min(or(l.Bytes, DefaultBytes), maxBytes),
		Depth:  or(l.Depth, DefaultDepth),
		Tokens: or(l.Tokens, DefaultTokens),
		Keys:   or(l.Keys, DefaultKeys),
		Digits: or(l.Digits, DefaultDigits),
		ID:     or(l.ID, DefaultID),
		Method: or(l.Method, DefaultMethod),
		Batch:  or(l.Batch, DefaultBatch),
	}
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
