package jsonrpc

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is the id of a request: an integer or a string, kept as the very bytes that were received. Two ids are equal if their bytes are.
// The zero ID is no id.
type ID struct{ raw string }

// IntID is the id n.
func IntID(n uint64) ID { return ID{strconv.FormatUint(n, 10)} }

// StringID is the id s, quoted as JSON. Bytes of s that are not UTF-8 become U+FFFD.
func StringID(s string) ID {
	quoted, _ := jsontext.AppendQuote(nil, s) // the error only reports the replacement
	return ID{string(quoted)}
}

// ParseID reads an id as it stands in another message, such as requestId of notifications/cancelled.
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

// Raw is the id as it stands on the wire, quotes included; empty for the zero ID.
func (id ID) Raw() string { return id.raw }

// IsZero reports that there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Int reads an id that IntID could have made. Ids of ours come back this way.
func (id ID) Int() (uint64, bool) {
	n, err := strconv.ParseUint(id.raw, 10, 64)
	return n, err == nil
}

// String is the id for a reader: as on the wire, or "none".
func (id ID) String() string {
	if id.raw == "" {
		return "none"
	}
	return id.raw
}

// Compare orders ids: whole numbers by their value, and others somehow.
func (id ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(len(id.raw), len(o.raw)), cmp.Compare(id.raw, o.raw))
}
