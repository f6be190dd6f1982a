package rewrite

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// treatment is the treatment of an error.
type treatment uint8

const (
	forward treatment = iota
	notFound
	known    // an error about an unknown resource, which gets the older code
	required // the user must visit a page, and the client did not declare that it can show pages
	hidden   // an internal error, with the original error in data
)

// codes is a range of codes with their treatment. The first matching row applies.
type codes struct {
	from, to int64
	when     func(t *outgoingError) bool
	fate     treatment
}

// outgoingError is an error on its way to a client.
type outgoingError struct {
	*plan
	client protocol.ClientCapabilities
	method string
	data   jsontext.Value
}

// treatments is the table of the treatments (§10.16 of the protocol matrix). A code without a row
// is forwarded: those of JSON-RPC and of applications.
var treatments = []codes{
	{protocol.CodeResourceNotFound, protocol.CodeResourceNotFound,
		(*outgoingError).renumbered, notFound},
	{jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams, (*outgoingError).unknownResource, known},
	{protocol.CodeURLElicitationRequired, protocol.CodeURLElicitationRequired,
		(*outgoingError).visitModern, required},
	{protocol.CodeURLElicitationRequired, protocol.CodeURLElicitationRequired,
		(*outgoingError).visitNever, hidden},
	// A server that speaks both eras may use the modern code for any client.
	{protocol.CodeMissingCapability, protocol.CodeMissingCapability,
		(*outgoingError).lacking, forward},
	// These two codes concern the connection between host and server. The client sent neither the
	// headers nor the revision.
	{protocol.CodeUnsupportedVersion, protocol.CodeUnsupportedVersion,
		(*outgoingError).modern, hidden},
	{protocol.CodeHeaderMismatch, protocol.CodeHeaderMismatch, (*outgoingError).modern, hidden},
	// 2026-07-28 §basic reserves the codes below for the specification. If a server of that revision
	// uses one of them anyway, a client of the same revision receives it unchanged.
	{-32099, protocol.CodeUnsupportedVersion, (*outgoingError).fromModern, hidden},
	// 2026-07-28 §basic reserves some of these codes for the specification and discourages the
	// others. A legacy server uses them with its own meaning.
	{-32099, -32000, (*outgoingError).toModern, hidden},
}

func (t *outgoingError) modern() bool { return t.from.Has(protocol.SpecErrorCodes) }

func (t *outgoingError) fromModern() bool { return t.modern() && t.from != t.to }

func (t *outgoingError) toModern() bool { return !t.modern() && t.to.Has(protocol.SpecErrorCodes) }

// lacking reports whether data names the capabilities that the client lacks, in the form of
// 2026-07-28 §basic.
func (t *outgoingError) lacking() bool {
	names, ok := jsonedit.Get(t.data, "requiredCapabilities")
	return ok && names.Kind() == '{'
}

func (t *outgoingError) renumbered() bool {
	return t.from.Has(protocol.ResourceNotFoundCode) && !t.to.Has(protocol.ResourceNotFoundCode)
}

func (t *outgoingError) unknownResource() bool {
	_, ok := jsonedit.Get(t.data, "uri")
	return ok && t.method == "resources/read" && !t.from.Has(protocol.ResourceNotFoundCode) &&
		t.to.Has(protocol.ResourceNotFoundCode)
}

// visits reports whether the client can send its user to a page.
func (t *outgoingError) visits() bool { return t.client.Has("elicitation.url") }

func (t *outgoingError) visitModern() bool {
	return t.from.Has(protocol.URLElicitationCode) && t.to.Has(protocol.SpecErrorCodes) && !t.visits()
}

// visitNever applies to clients whose revision lacks the code. A client of the server's own
// revision receives the error unchanged, regardless of its capabilities.
func (t *outgoingError) visitNever() bool {
	return t.from.Has(protocol.URLElicitationCode) && !t.to.Has(protocol.URLElicitationCode)
}

// Error translates the error of a server's response for the client. From is the server's revision,
// to the client's. Client holds the capabilities that the client declared. Method and params are
// those of the request. Error returns e itself if it needs no change, and never modifies e.
//
// A server may refuse a request because the user must visit a page first. For a modern client that
// did not declare URL elicitation, that error becomes a missing capability. If the client did
// declare it, the caller asks the client instead.
func Error(
	from, to protocol.Version, client protocol.ClientCapabilities, method string,
	params jsontext.Value, e *jsonrpc.Error,
) *jsonrpc.Error {
	if e == nil {
		return nil
	}
	t := outgoingError{planFor(from, to), client, method, e.Data}
	for _, row := range treatments {
		if row.from <= e.Code && e.Code <= row.to && row.when(&t) {
			return row.fate.apply(e, params)
		}
	}
	return e
}

func (f treatment) apply(e *jsonrpc.Error, params jsontext.Value) *jsonrpc.Error {
	switch f {
	case forward:
		return e
	case notFound:
		return &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams, Message: e.Message, Data: located(e.Data, params),
		}
	case known:
		return &jsonrpc.Error{Code: protocol.CodeResourceNotFound, Message: e.Message, Data: e.Data}
	case required:
		data := jsontext.Value(`{"requiredCapabilities":{"elicitation":{"url":{}}}}`)
		return &jsonrpc.Error{Code: protocol.CodeMissingCapability, Message: e.Message, Data: data}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: e.Message, Data: original(e)}
}

// located returns data that name the resource. The name is the server's, or otherwise that of the
// request.
func located(data, params jsontext.Value) jsontext.Value {
	if _, ok := jsonedit.Get(data, "uri"); ok {
		return data
	}
	uri, ok := jsonedit.Get(params, "uri")
	if !ok {
		return data
	}
	if data.Kind() != '{' { // only an object has a place for a member
		more := data
		data = nil
		if len(more) > 0 {
			data, _ = jsonedit.Set(nil, more, "original")
		}
	}
	data, _ = jsonedit.Set(data, uri, "uri") // data is an object or empty, so Set cannot fail
	return data
}

// original returns data that contain the original error.
func original(e *jsonrpc.Error) jsontext.Value {
	d := jsontext.Value(`{"original":{"code":`)
	d = strconv.AppendInt(d, e.Code, 10)
	if len(e.Data) > 0 {
		d = append(d, `,"data":`...)
		d = append(d, e.Data...)
	}
	return append(d, "}}"...)
}
