package rewrite

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// fate is what becomes of an error.
type fate uint8

const (
	forward fate = iota
	notFound
	known    // a resource is not known: the older code
	required // the user must visit a page, and the client has not declared that it can show one
	hidden   // an internal error, with the original in data
)

// codes is a range of codes, or one, and what becomes of them. Rows are read from the top.
type codes struct {
	from, to int64
	when     func(t *told) bool
	fate     fate
}

// told is an error on its way to a client.
type told struct {
	*plan
	client protocol.ClientCapabilities
	method string
	data   jsontext.Value
}

// fates is the table (§10.16 of the protocol matrix). What is in no row is forwarded: codes of JSON-RPC, and of applications.
var fates = []codes{
	{protocol.CodeResourceNotFound, protocol.CodeResourceNotFound, (*told).renumbered, notFound},
	{jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams, (*told).unknownResource, known},
	{protocol.CodeURLElicitationRequired, protocol.CodeURLElicitationRequired, (*told).visitModern, required},
	{protocol.CodeURLElicitationRequired, protocol.CodeURLElicitationRequired, (*told).visitNever, hidden},
	// A server of both eras may refuse in the words of the newer one, whoever asks.
	{protocol.CodeMissingCapability, protocol.CodeMissingCapability, (*told).lacking, forward},
	// These two are about the connection between the host and the server: the client sent neither the
	// headers nor the revision.
	{protocol.CodeUnsupportedVersion, protocol.CodeUnsupportedVersion, (*told).modern, hidden},
	{protocol.CodeHeaderMismatch, protocol.CodeHeaderMismatch, (*told).modern, hidden},
	// 2026-07-28 §basic keeps the codes below for the specification. A server of that revision that
	// uses one is heard by a client of the same revision as it is directly.
	{-32099, protocol.CodeUnsupportedVersion, (*told).fromModern, hidden},
	// 2026-07-28 §basic keeps these codes for the specification and discourages the rest; a legacy server meant something of its own.
	{-32099, -32000, (*told).toModern, hidden},
}

func (t *told) modern() bool { return t.from.Has(protocol.SpecErrorCodes) }

func (t *told) fromModern() bool { return t.modern() && t.from != t.to }

func (t *told) toModern() bool { return !t.modern() && t.to.Has(protocol.SpecErrorCodes) }

// lacking reports whether data says which capabilities the client lacks, as 2026-07-28 §basic has it.
func (t *told) lacking() bool {
	names, ok := splice.Get(t.data, "requiredCapabilities")
	return ok && names.Kind() == '{'
}

func (t *told) renumbered() bool {
	return t.from.Has(protocol.ResourceNotFoundCode) && !t.to.Has(protocol.ResourceNotFoundCode)
}

func (t *told) unknownResource() bool {
	_, ok := splice.Get(t.data, "uri")
	return ok && t.method == "resources/read" && !t.from.Has(protocol.ResourceNotFoundCode) && t.to.Has(protocol.ResourceNotFoundCode)
}

// visits reports whether the client can send its user to a page.
func (t *told) visits() bool { return t.client.Has("elicitation.url") }

func (t *told) visitModern() bool {
	return t.from.Has(protocol.URLElicitationCode) && t.to.Has(protocol.SpecErrorCodes) && !t.visits()
}

// visitNever is for clients of revisions without the code. One of the server's own revision gets it
// as it does directly, whatever it has declared.
func (t *told) visitNever() bool {
	return t.from.Has(protocol.URLElicitationCode) && !t.to.Has(protocol.URLElicitationCode)
}

// Error is the error with which a server of revision from answered a request, for a client of revision to that has declared these
// capabilities. Method and params are those of the request. An error that passes is the same pointer; e is never changed.
//
// That a user must visit a page first becomes a missing capability for a modern client that has not declared it: one that has is asked by
// the caller instead.
func Error(
	from, to protocol.Version, client protocol.ClientCapabilities, method string, params jsontext.Value, e *jsonrpc.Error,
) *jsonrpc.Error {
	if e == nil {
		return nil
	}
	t := told{planFor(from, to), client, method, e.Data}
	for _, row := range fates {
		if row.from <= e.Code && e.Code <= row.to && row.when(&t) {
			return row.fate.apply(e, params)
		}
	}
	return e
}

func (f fate) apply(e *jsonrpc.Error, params jsontext.Value) *jsonrpc.Error {
	switch f {
	case forward:
		return e
	case notFound:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message, Data: located(e.Data, params)}
	case known:
		return &jsonrpc.Error{Code: protocol.CodeResourceNotFound, Message: e.Message, Data: e.Data}
	case required:
		data := jsontext.Value(`{"requiredCapabilities":{"elicitation":{"url":{}}}}`)
		return &jsonrpc.Error{Code: protocol.CodeMissingCapability, Message: e.Message, Data: data}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: e.Message, Data: original(e)}
}

// located is data that names the resource: as the server did, or else as the request does.
func located(data, params jsontext.Value) jsontext.Value {
	if _, ok := splice.Get(data, "uri"); ok {
		return data
	}
	uri, ok := splice.Get(params, "uri")
	if !ok {
		return data
	}
	if data.Kind() != '{' { // it has no place for a member
		more := data
		data = nil
		if len(more) > 0 {
			data, _ = splice.Set(nil, more, "original")
		}
	}
	data, _ = splice.Set(data, uri, "uri") // data is an object or empty
	return data
}

// original is data that says what the error was.
func original(e *jsonrpc.Error) jsontext.Value {
	d := jsontext.Value(`{"original":{"code":`)
	d = strconv.AppendInt(d, e.Code, 10)
	if len(e.Data) > 0 {
		d = append(d, `,"data":`...)
		d = append(d, e.Data...)
	}
	return append(d, "}}"...)
}
