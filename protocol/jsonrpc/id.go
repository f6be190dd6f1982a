package jsonrpc

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is the id of a request: an integer or a string. It holds the bytes that were received. Two ids
// are equal if their bytes are equal. The zero ID means that there is no id.
type ID struct{ raw string }

// IntID returns the id n.
func IntID(n uint64) ID { return ID{strconv.FormatUint(n, 10)} }

// StringID returns the id s, quoted as JSON. Bytes of s that are not UTF-8 become U+FFFD.
func StringID(s string) ID {
	quoted, _ := jsontext.AppendQuote(nil, s) // the error only reports the replacement
	return ID{string(quoted)}
}

// ParseID reads an id from another message, for example requestId of notifications/cancelled. The
// error is a *DecodeError.
func ParseID(raw jsontext.Value) (ID, error) {
	s := scanner{data: raw, limits: Limits{}.orDefaults()}
	s.space()
	start := s.pos
	if !s.value(1) || !s.end() {
		return ID{}, s.err
	}
	id, refused := s.id(span{start, s.last})
	if refused != nil {
		return ID{}, refused
	}
	return id, nil
}

// Raw is the id as sent, with the quotes of a string. It is empty for the zero ID.
func (id ID) Raw() string { return id.raw }

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Int returns the number of an id, and whether the id is an unsigned integer. It reverses IntID.
func (id ID) Int() (uint64, bool) {
	n, err := strconv.ParseUint(id.raw, 10, 64)
	return n, err == nil
}

// String is the id as sent, or "none" for the zero ID.
func (id ID) String() string {
	if id.raw == "" {
		return "none"
	}
	return id.raw
}

// Compare orders ids. Integers from 0 on are in order of their value; the order of other ids is
// arbitrary but fixed.
func (id ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(len(id.raw), len(o.raw)), cmp.Compare(id.raw, o.raw))
}
