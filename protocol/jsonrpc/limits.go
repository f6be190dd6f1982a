package jsonrpc

import "math"

// Limits bounds what Decode accepts. A zero field takes the default of the same name, so the zero Limits is safe.
type Limits struct {
	Bytes  int // of the whole input
	Depth  int // of nested objects and arrays, the envelope included
	Tokens int // names, values, and the beginning and end of each object and array
	Keys   int // members of one object
	Digits int // bytes of one number
	ID     int // bytes of an id, between the quotes if it is a string
	Method int // bytes of a method's name
	Batch  int // messages of one array
}

const (
	DefaultBytes  = 4 << 20 // the default of the official Go SDK, so what fits there fits here
	DefaultDepth  = 64      // no published schema nests deeper than 12; recursion stays on one goroutine stack page
	DefaultTokens = 1 << 20 // 4 MiB of "0," have two million: bounds the work per body, not real payloads
	DefaultKeys   = 10_000  // duplicate detection holds every name of an open object
	DefaultDigits = 4300    // CPython refuses longer integers, since reading them is quadratic there
	DefaultID     = 256     // a UUID has 36; ids are kept while a request is in flight
	DefaultMethod = 256     // the longest published name has 40; unknown names are echoed in errors
	DefaultBatch  = 50      // one array must not be an amplifier of work
)

// LongMember is the size from which a value is left out of an outline: one of which nobody reads a part, as arguments and contents are.
const LongMember = 64 << 10

// maxBytes is what positions of names are kept in; the ceiling for configured bounds is far below.
const maxBytes = math.MaxInt32

// orDefaults fills the zero fields.
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
