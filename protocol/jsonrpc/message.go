package jsonrpc

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Message is one JSON-RPC message. Which members are set decides its Kind.
type Message struct {
	ID     ID
	Method string
	Params jsontext.Value // of a request or notification; empty when absent
	Result jsontext.Value // of a response that succeeded
	Error  *Error         // of a response that failed

	outline jsontext.Value // see Outline; empty where nothing is long
	names   names          // see May
}

// Outline is the params of a request or notification, or the result of a response: the same members, but an empty one of its kind in the place of each
// value of LongMember bytes or more but `_meta`. Whether there is a member, of which kind it is, and what one says that is short, can be read there without
// passing over megabytes of another. Only Decode knows what is long: of a message that was put together it is the whole.
func (m Message) Outline() jsontext.Value {
	switch {
	case len(m.outline) > 0:
		return m.outline
	case m.Method != "":
		return m.Params
	}
	return m.Result
}

// WithParams is the request or notification with other params.
func (m Message) WithParams(params jsontext.Value) Message {
	m.Params, m.outline, m.names = params, nil, 0
	return m
}

// Kind says what a message is.
type Kind uint8

// The four shapes a message can have.
const (
	KindInvalid Kind = iota // none of the others: the zero Message
	KindRequest
	KindNotification
	KindResult
	KindFailure
)

// String is the kind in one lower-case word.
func (k Kind) String() string {
	return [...]string{"invalid", "request", "notification", "result", "failure"}[k]
}

// Request is a request for method. Params may be empty.
func Request(id ID, method string, params jsontext.Value) Message {
	return Message{ID: id, Method: method, Params: params}
}

// Notification is a message that gets no answer. Params may be empty.
func Notification(method string, params jsontext.Value) Message {
	return Message{Method: method, Params: params}
}

// Response answers the request id with a result. An empty result is sent as {}.
func Response(id ID, result jsontext.Value) Message {
	if len(result) == 0 {
		result = jsontext.Value("{}")
	}
	return Message{ID: id, Result: result}
}

// Failure answers the request id with an error. The zero id is for input in which no id could be read.
func Failure(id ID, err *Error) Message { return Message{ID: id, Error: err} }

// Kind tells which of the four shapes m has.
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

// Error gives the message and the code.
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

// Why a message was refused.
const (
	ReasonParse          Reason = "parse"           // not JSON as this package accepts it
	ReasonInvalidRequest Reason = "invalid_request" // JSON, but not one of the four shapes
	ReasonLimits         Reason = "limits"          // deeper, longer or more than Limits allows
	ReasonTooLarge       Reason = "too_large"       // more than Limits.Bytes
)

// DecodeError says why, what and where a message was refused.
type DecodeError struct {
	Code     int64  // the JSON-RPC code to answer with
	Reason   Reason // the class
	Detail   string // what was wrong, for a reader
	Offset   int    // the byte at which it was
	ID       ID     // of the refused message, if it could be read
	Response bool   // the message was an answer to ID, so it must not be answered in turn
	Empty    bool   // the message had neither a method nor an answer. A server that forgets the result of ID sends such
}

// Error names what was refused and the byte at which it was.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s: %s at byte %d", e.Reason, e.Detail, e.Offset)
}

// BatchError says which messages of an otherwise readable array were refused. The others were returned.
type BatchError struct{ Refused []*DecodeError }

// Error names the first of them and how many there are.
func (e *BatchError) Error() string {
	return fmt.Sprintf("%d refused in a batch, the first: %v", len(e.Refused), e.Refused[0])
}

// Unwrap gives the refusals one by one.
func (e *BatchError) Unwrap() []error {
	list := make([]error, len(e.Refused))
	for i, r := range e.Refused {
		list[i] = r
	}
	return list
}
