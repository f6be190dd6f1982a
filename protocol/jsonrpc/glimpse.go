package jsonrpc

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Glimpse is what can be told of a message that cannot be read, from its beginning: its id, and
// whether it answers that id, which is then read as NumberID does. The id is zero if it does not come
// before what is broken, if there are two, or if it cannot be told whether the message is an answer or
// a request. It is for messages of a server, whose caller would otherwise wait: it must not be told to
// a peer as if it had been read.
func Glimpse(data []byte) (id ID, response bool) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
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
			continue // a broken one breaks the next token too
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

// GlimpseBatch is the ids of the requests of an array that cannot be read, as Glimpse tells them.
func GlimpseBatch(data []byte) (ids []ID) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil
	}
	for {
		element, err := d.ReadValue()
		if err != nil {
			return ids
		}
		if id, response := Glimpse(element); !id.IsZero() && !response {
			ids = append(ids, id)
		}
	}
}

// lastID is the end of an answer whose id comes last, as the most common server library writes them. Between the id and the brace that ends
// the message no other brace fits, so it is none of a nested object.
var lastID = regexp.MustCompile(`[,{]\s*"id"\s*:\s*(\d{1,20})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// LastID is the number that a message ending in data has for an id, when that comes last.
func LastID(data []byte) (ID, bool) {
	if m := lastID.FindSubmatch(data); m != nil {
		if n, err := strconv.ParseUint(string(m[1]), 10, 64); err == nil {
			return IntID(n), true
		}
	}
	return ID{}, false
}
