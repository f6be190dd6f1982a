package protocol

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

// Error is an expected failure: a condition with its particulars. It is made by the constructors of
// this package and told to a peer by Translate.
type Error struct {
	Condition  Condition
	Message    string         // for the peer to read; holds no secrets of the host
	Data       jsontext.Value // an object of what else the peer is told; empty for nothing
	RetryAfter time.Duration  // when to try again; 0 for not said
	Cause      error          // for the host's own log, never for the peer
}

// Error is the message, and the cause if there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, ConditionTimeout) work.
func (e *Error) Is(target error) bool {
	c, ok := target.(Condition)
	return ok && c == e.Condition
}

// InvalidRequest refuses a message that is JSON-RPC but makes no sense here.
func InvalidRequest(detail string) *Error {
	return &Error{Condition: ConditionInvalidRequest, Message: detail}
}

// MethodNotFound refuses a method that the revision lacks or that this side may not send.
func MethodNotFound(method string) *Error {
	return &Error{
		Condition: ConditionMethodNotFound,
		Message:   "method " + shown(method) + " not found",
		Data:      data("method", cut(method)),
	}
}

// InvalidParams refuses params; detail names the member and what is wrong with it.
func InvalidParams(detail string) *Error {
	return &Error{Condition: ConditionInvalidParams, Message: detail}
}

// InternalError hides a failure of the host from the peer, which learns only that there was one.
func InternalError(cause error) *Error {
	return &Error{Condition: ConditionInternal, Message: "internal error", Cause: cause}
}

// NotInitialized refuses what came before the handshake: action is what was asked for, as "list
// resources" (S0-31, S4-83).
func NotInitialized(phase, action string) *Error {
	return &Error{
		Condition: ConditionNotInitialized,
		Message:   "Cannot " + action + " before server initialization",
		Data:      data("currentPhase", phase),
	}
}

// AlreadyInitialized refuses a second initialize (S0-32).
func AlreadyInitialized() *Error {
	return &Error{
		Condition: ConditionAlreadyInitialized,
		Message:   "Server already initialized. Initialize must be called only once.",
	}
}

// ResourceNotFound says that no server has the resource.
func ResourceNotFound(uri string) *Error {
	return &Error{
		Condition: ConditionResourceNotFound,
		Message:   "resource " + shown(uri) + " not found",
		Data:      data("uri", uri),
	}
}

// NotAnnounced says that a server agreed to no subscription to the resource.
func NotAnnounced(uri string) *Error {
	return &Error{
		Condition: ConditionInvalidParams,
		Message:   "changes of this resource are not announced",
		Data:      data("uri", uri),
	}
}

// ToolNotFound says that no server has the tool.
func ToolNotFound(name string) *Error {
	return &Error{
		Condition: ConditionToolNotFound,
		Message:   "tool " + shown(name) + " not found",
		Data:      data("tool", cut(name)),
	}
}

// PromptNotFound says that no server has the prompt.
func PromptNotFound(name string) *Error {
	return &Error{
		Condition: ConditionPromptNotFound,
		Message:   "prompt " + shown(name) + " not found",
		Data:      data("prompt", cut(name)),
	}
}

// CapabilityNotSupported refuses what the receiver never advertised, as "resources.subscribe".
func CapabilityNotSupported(capability string) *Error {
	return &Error{
		Condition: ConditionCapabilityNotSupported,
		Message:   "capability " + shown(capability) + " is not supported",
		Data:      data("capability", capability),
	}
}

// CapabilityRequired refuses what needs a capability that the client did not declare, as
// "elicitation.url". The path is told in the two ways that revisions read it.
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

// UnsupportedVersion refuses a revision and names those that would do; none named means all that
// exist.
func UnsupportedVersion(requested string, supported ...Version) *Error {
	return unsupported(
		"protocol version "+shown(requested)+" is not supported",
		requested,
		supported,
	)
}

// unsupported says it in both spellings: supported and requested are the specification's, the other
// two those of S4-84.
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
	d := data("requested", cut(requested), "requestedVersion", cut(requested))
	d = append(d[:len(d)-1], `,"supported":`...)
	d = append(d, list...)
	d = append(d, `,"supportedVersions":`...)
	d = append(d, list...)
	return &Error{Condition: ConditionUnsupportedVersion, Message: message, Data: append(d, '}')}
}

// HeaderMismatch refuses a request whose HTTP header is missing, malformed or says other than its
// body.
func HeaderMismatch(header, detail string) *Error {
	return &Error{
		Condition: ConditionHeaderMismatch,
		Message:   "header " + header + ": " + detail,
		Data:      data("header", header),
	}
}

// RequestIDConflict refuses a request whose id is that of one still in flight on the same shared
// channel.
func RequestIDConflict(id jsonrpc.ID) *Error {
	return &Error{
		Condition: ConditionRequestIDConflict,
		Message:   "request id " + id.String() + " is in flight already",
	}
}

// StateInvalid refuses a handle that the peer was given earlier: what is "requestState", "cursor",
// "task".
func StateInvalid(what string) *Error {
	return &Error{
		Condition: ConditionStateInvalid,
		Message:   what + " is invalid or expired",
		Data:      data("state", what),
	}
}

// StateOutlived refuses a requestState that an earlier host sealed: the call of server that waited
// for the retry has ended with that.
func StateOutlived(server string) *Error {
	return &Error{
		Condition: ConditionStateInvalid,
		Message: "the host was restarted since it gave this requestState; server " + shown(
			server,
		) + " may have executed the call",
		Data: unfinished(server, true),
	}
}

// SessionGone refuses a session that ended, or never was, or is not the caller's: the three are not
// told apart.
func SessionGone() *Error {
	return &Error{Condition: ConditionSessionGone, Message: "session not found"}
}

// URLElicitationRequired passes on that the user must visit the given pages first. Elicitations is
// the array as the server sent it.
func URLElicitationRequired(message string, elicitations jsontext.Value) *Error {
	d := append(jsontext.Value(`{"elicitations":`), elicitations...)
	return &Error{
		Condition: ConditionURLElicitationRequired,
		Message:   message,
		Data:      append(d, '}'),
	}
}

// UserRejected says that the user refused a sampling request.
func UserRejected() *Error {
	return &Error{Condition: ConditionUserRejected, Message: "user rejected the request"}
}

// data is the object of the given names and strings, in their order. The names need no escapes.
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
		) // the error only reports bytes that became U+FFFD
	}
	return append(d, '}')
}

// cut bounds text that a peer sent and gets back.
func cut(text string) string {
	if len(text) <= MaxDetail {
		return text
	}
	n := MaxDetail
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// shown is such text within a message.
func shown(text string) string { return strconv.Quote(cut(text)) }
