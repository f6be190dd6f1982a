package jsonrpc

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Message is one JSON-RPC message. Its Kind follows from the members that are set.
type Message struct {
	ID     ID
	Method string
	Params jsontext.Value // of a request or notification; empty when absent
	Result jsontext.Value // of a successful response
	Error  *Error         // of a failed response

	elided jsontext.Value // see Elided; empty if no value is long
	names  nameSet        // see MayHave
}

// Elided returns the params of a request or notification, or the result of a response, with long
// values elided. An empty value of the same type replaces each member of LongMember bytes or more,
// except `_meta`. The outline shows the presence and type of every member and the content of short
// ones, and spares its reader megabytes of long ones. Only Decode creates outlines; for any other
// message Elided returns the whole value.
func (m Message) Elided() jsontext.Value {
	switch {
	case len(m.elided) > 0:
		return m.elided
	case m.Method != "":
		return m.Params
	}
	return m.Result
}

// WithParams returns the request or notification with other params.
func (m Message) WithParams(params jsontext.Value) Message {
	m.Params, m.elided, m.names = params, nil, 0
	return m
}

// Kind is the kind of a message.
type Kind uint8

// The kinds of message.
const (
	KindInvalid Kind = iota // the zero Message
	KindRequest
	KindNotification
	KindResult
	KindFailure
)

// String is the kind in one lower-case word.
func (k Kind) String() string {
	return [...]string{"invalid", "request", "notification", "result", "failure"}[k]
}

// Request returns a request for method. Params may be empty.
func Request(id ID, method string, params jsontext.Value) Message {
	return Message{ID: id, Method: method, Params: params}
}

// Notification returns a message that has no response. Params may be empty.
func Notification(method string, params jsontext.Value) Message {
	return Message{Method: method, Params: params}
}

// Response returns a successful response to the request id. An empty result is sent as {}.
func Response(id ID, result jsontext.Value) Message {
	if len(result) == 0 {
		result = jsontext.Value("{}")
	}
	return Message{ID: id, Result: result}
}

// Failure returns an error response to the request id. Use the zero id if no id could be read.
func Failure(id ID, err *Error) Message { return Message{ID: id, Error: err} }

// Kind returns the kind of m.
func (m Message) Kind() Kind {
	switch {
	case m.Method != "" && !m.ID.IsZero():
		return KindRequest
	case m.Method != "":
		return KindNotification
	case m.Error != nil:
		return KindFailure
	case len(m.Result) > 0:
		return KindResult
	}
	return KindInvalid
}

// Error is the error member of a response.
type Error struct {
	Code    int64
	Message string
	Data    jsontext.Value // empty when absent
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// The codes that JSON-RPC 2.0 §5.1 defines.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Reason is the class of a DecodeError in one word.
type Reason string

// The reasons for a refusal.
const (
	ReasonParse          Reason = "parse"           // not JSON as this package accepts it
	ReasonInvalidRequest Reason = "invalid_request" // JSON, but none of the kinds of message
	ReasonLimits         Reason = "limits"          // deeper, longer or more than Limits allows
	ReasonTooLarge       Reason = "too_large"       // more bytes than Limits.Bytes
)

// DecodeError says why, and at which byte, a message was refused.
type DecodeError struct {
	Code   int64  // the JSON-RPC code of the error response
	Reason Reason // the class
	Detail string // the problem in words
	Offset int    // the byte at which the problem is
	ID     ID     // of the refused message, if it could be read
	// Response says that the message was a response to ID. It must not be answered.
	Response bool
	// Empty says that the message had neither a method nor a result nor an error. A server that
	// forgets the result of ID sends such a message.
	Empty bool
}

// Error names the problem and its byte.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s: %s at byte %d", e.Reason, e.Detail, e.Offset)
}

// BatchError lists the refused messages of an otherwise valid array. DecodeBatch returns the other
// messages.
type BatchError struct{ Refused []*DecodeError }

// Error describes the first refusal and gives their number.
func (e *BatchError) Error() string {
	return fmt.Sprintf("%d refused in a batch, the first: %v", len(e.Refused), e.Refused[0])
}

// Unwrap returns the refusals one by one.
func (e *BatchError) Unwrap() []error {
	list := make([]error, len(e.Refused))
	for i, r := range e.Refused {
		list[i] = r
	}
	return list
}
