package jsonrpc

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// PeekID peeks at a message of a server that cannot be decoded. It returns the peeked id, and
// whether the message is a response to that id. It reads the id of a response as NumberID does. The
// id is zero if it comes after the broken part, if there are two ids, or if the readable part shows
// neither or both of a request and a response. With the id the caller can fail the request that
// would otherwise wait for the response. The peeked id must not be sent to a peer as if the message
// had been decoded.
func PeekID(data []byte) (id ID, response bool) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ID{}, false
	}
	request, ids := false, 0
	var raw jsontext.Value
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			break
		}
		switch name.String() {
		case "method":
			request = true
		case "result", "error":
			response = true
		case "id":
			ids++
			value, err := d.ReadValue()
			if err == nil {
				raw = value.Clone()
			}
			continue // a broken id breaks the next token too
		}
		if d.SkipValue() != nil {
			break
		}
	}
	if ids == 1 && request != response {
		id, _ = ParseID(raw)
		if n, ok := NumberID(raw); ok && response {
			id = n
		}
	}
	return id, response && !request
}

// PeekBatchIDs returns the peeked ids of the requests in an array that cannot be decoded. It reads
// each element as PeekID does.
func PeekBatchIDs(data []byte) (ids []ID) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil
	}
	for {
		element, err := d.ReadValue()
		if err != nil {
			return ids
		}
		if id, response := PeekID(element); !id.IsZero() && !response {
			ids = append(ids, id)
		}
	}
}

// lastID matches the end of a response whose id comes last, as the most common server library
// writes it. The pattern allows no other brace between the id and the closing brace of the message,
// so the id is not that of a nested object.
var lastID = regexp.MustCompile(
	`[,{]\s*"id"\s*:\s*(\d{1,20})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`,
)

// LastID returns the id of a message that ends in data, if the id is a number and comes last.
func LastID(data []byte) (ID, bool) {
	if m := lastID.FindSubmatch(data); m != nil {
		if n, err := strconv.ParseUint(string(m[1]), 10, 64); err == nil {
			return IntID(n), true
		}
	}
	return ID{}, false
}
