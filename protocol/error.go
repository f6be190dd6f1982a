package protocol

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

// Error is an expected failure: a condition with its details. The constructors of this package
// create errors. Translate turns an error into the form that a peer receives.
type Error struct {
	Condition Condition
	// Message is for the peer to read. It contains no secrets of the host.
	Message string
	// Data is a JSON object with details for the peer; empty for none.
	Data jsontext.Value
	// RetryAfter is the time to wait before a retry; 0 if unknown. The peer gets it in milliseconds.
	RetryAfter time.Duration
	// Cause is for the host's own log. The peer never sees it.
	Cause error
}

// Error returns the message, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is the Condition of e, so that errors.Is(err, ConditionTimeout) works.
func (e *Error) Is(target error) bool {
	c, ok := target.(Condition)
	return ok && c == e.Condition
}

// InvalidRequest returns the error of a message that is valid JSON-RPC but not acceptable here.
func InvalidRequest(detail string) *Error {
	return &Error{Condition: ConditionInvalidRequest, Message: detail}
}

// MethodNotFound returns the error of a method that the revision lacks or that this side may not
// send.
func MethodNotFound(method string) *Error {
	return &Error{
		Condition: ConditionMethodNotFound,
		Message:   "method " + quoted(method) + " not found",
		Data:      data("method", truncate(method)),
	}
}

// InvalidParams returns the error of invalid params. Detail names the member and the problem.
func InvalidParams(detail string) *Error {
	return &Error{Condition: ConditionInvalidParams, Message: detail}
}

// InternalError returns the error of a failure of the host. The peer learns only that a failure
// occurred; cause goes to the log.
func InternalError(cause error) *Error {
	return &Error{Condition: ConditionInternal, Message: "internal error", Cause: cause}
}

// NotInitialized returns the error of a request before the handshake. Phase is the phase of the
// connection. Action describes the request, for example "list resources".
func NotInitialized(phase, action string) *Error {
	return &Error{
		Condition: ConditionNotInitialized,
		Message:   "Cannot " + action + " before server initialization",
		Data:      data("currentPhase", phase),
	}
}

// AlreadyInitialized returns the error of a second initialize.
func AlreadyInitialized() *Error {
	return &Error{
		Condition: ConditionAlreadyInitialized,
		Message:   "Server already initialized. Initialize must be called only once.",
	}
}

// ResourceNotFound returns the error of a request for a resource that no server has.
func ResourceNotFound(uri string) *Error {
	return &Error{
		Condition: ConditionResourceNotFound,
		Message:   "resource " + quoted(uri) + " not found",
		Data:      data("uri", uri),
	}
}

// NotAnnounced returns the error of a subscription to a resource for which no server accepts
// subscriptions.
func NotAnnounced(uri string) *Error {
	return &Error{
		Condition: ConditionInvalidParams,
		Message:   "changes of this resource are not announced",
		Data:      data("uri", uri),
	}
}

// ToolNotFound returns the error of a request for a tool that no server has.
func ToolNotFound(name string) *Error {
	return &Error{
		Condition: ConditionToolNotFound,
		Message:   "tool " + quoted(name) + " not found",
		Data:      data("tool", truncate(name)),
	}
}

// PromptNotFound returns the error of a request for a prompt that no server has.
func PromptNotFound(name string) *Error {
	return &Error{
		Condition: ConditionPromptNotFound,
		Message:   "prompt " + quoted(name) + " not found",
		Data:      data("prompt", truncate(name)),
	}
}

// CapabilityNotSupported returns the error of a request that needs a capability the receiver did
// not advertise, for example "resources.subscribe".
func CapabilityNotSupported(capability string) *Error {
	return &Error{
		Condition: ConditionCapabilityNotSupported,
		Message:   "capability " + quoted(capability) + " is not supported",
		Data:      data("capability", capability),
	}
}

// CapabilityRequired returns the error of a request that needs a capability the client did not
// declare, for example "elicitation.url". The data contain the capability both as a path and as the
// requiredCapabilities object of 2026-07-28 §basic.
func CapabilityRequired(capability string) *Error {
	d := data("capability", capability)
	d = append(d[:len(d)-1], `,"requiredCapabilities":`...)
	d = append(d, ClientCapabilities{}.With(capability, jsontext.Value("{}")).Raw()...)
	return &Error{
		Condition: ConditionCapabilityRequired,
		Message:   "Client does not support required capability: " + capability,
		Data:      append(d, '}'),
	}
}

// UnsupportedVersion returns the error of a revision that is not offered. Supported lists the
// revisions that are; if it is empty, the error names all revisions.
func UnsupportedVersion(requested string, supported ...Version) *Error {
	return unsupported(
		"protocol version "+quoted(requested)+" is not supported",
		requested,
		supported,
	)
}

// unsupported writes the revisions under two spellings. The members supported and requested are
// those of the specification; supportedVersions and requestedVersion are those of mcpd's own
// requirements.
func unsupported(message, requested string, supported []Version) *Error {
	if len(supported) == 0 {
		supported = Versions()
	}
	list := []byte{'['}
	for i := len(supported) - 1; i >= 0; i-- {
		list = strconv.AppendQuote(list, supported[i].String())
		if i > 0 {
			list = append(list, ',')
		}
	}
	list = append(list, ']')
	d := data("requested", truncate(requested), "requestedVersion", truncate(requested))
	d = append(d[:len(d)-1], `,"supported":`...)
	d = append(d, list...)
	d = append(d, `,"supportedVersions":`...)
	d = append(d, list...)
	return &Error{Condition: ConditionUnsupportedVersion, Message: message, Data: append(d, '}')}
}

// HeaderMismatch returns the error of a request whose HTTP header is missing, malformed or
// different from its body (2026-07-28 §basic/transports).
func HeaderMismatch(header, detail string) *Error {
	return &Error{
		Condition: ConditionHeaderMismatch,
		Message:   "header " + header + ": " + detail,
		Data:      data("header", header),
	}
}

// RequestIDConflict returns the error of a request whose id equals the id of a request in flight on
// the same shared channel.
func RequestIDConflict(id jsonrpc.ID) *Error {
	return &Error{
		Condition: ConditionRequestIDConflict,
		Message:   "request id " + id.String() + " is in flight already",
	}
}

// StateInvalid returns the error of a handle from an earlier answer that is not, or no longer,
// valid. The argument label is "requestState", "cursor" or "task".
func StateInvalid(label string) *Error {
	return &Error{
		Condition: ConditionStateInvalid,
		Message:   label + " is invalid or expired",
		Data:      data("state", label),
	}
}

// StateOutlived returns the error of a requestState that an earlier host process sealed. The call
// of the server that waited for the retry ended with that process.
func StateOutlived(server string) *Error {
	return &Error{
		Condition: ConditionStateInvalid,
		Message: "the host was restarted since it gave this requestState; server " + quoted(
			server,
		) + " may have executed the call",
		Data: unansweredData(server, true),
	}
}

// SessionGone returns the error of a session that ended, never existed, or belongs to another
// caller. The error is the same for all three, so that a caller cannot probe for sessions.
func SessionGone() *Error {
	return &Error{Condition: ConditionSessionGone, Message: "session not found"}
}

// URLElicitationRequired returns the error that tells the user to visit the given pages first
// (2025-11-25 §client/elicitation). Elicitations is the array that the server sent.
func URLElicitationRequired(message string, elicitations jsontext.Value) *Error {
	d := append(jsontext.Value(`{"elicitations":`), elicitations...)
	return &Error{
		Condition: ConditionURLElicitationRequired,
		Message:   message,
		Data:      append(d, '}'),
	}
}

// UserRejected returns the error of a sampling request that the user refused.
func UserRejected() *Error {
	return &Error{Condition: ConditionUserRejected, Message: "user rejected the request"}
}

// data returns the object of the given names and string values, in their order. The names need no
// escaping.
func data(pairs ...string) jsontext.Value {
	room := 2
	for _, text := range pairs {
		room += len(text) + len(`"",`)
	}
	d := append(make(jsontext.Value, 0, room), '{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			d = append(d, ',')
		}
		d = append(d, '"')
		d = append(d, pairs[i]...)
		d = append(d, '"', ':')
		d, _ = jsontext.AppendQuote(
			d,
			pairs[i+1],
		) // The error only reports bytes that became U+FFFD.
	}
	return append(d, '}')
}

// truncate limits text that came from a peer to MaxDetail bytes, because an error returns it to the
// peer.
func truncate(text string) string {
	if len(text) <= MaxDetail {
		return text
	}
	n := MaxDetail
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// quoted is text from a peer, cut and quoted for a message.
func quoted(text string) string { return strconv.Quote(truncate(text)) }
