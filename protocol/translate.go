package protocol

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Translate converts err to the JSON-RPC error for a peer of that revision. It converts an *Error,
// the errors of jsonrpc.Decode, a bare Condition and context.DeadlineExceeded. A *jsonrpc.Error,
// which a server sent, stays unchanged. Any other error becomes an internal error with a sanitised
// detail; Mapped reports that case, so that the host can log it.
func Translate(err error, v Version) *jsonrpc.Error {
	if sent, ok := err.(*jsonrpc.Error); ok { // it wraps nothing, so it needs no search
		return sent
	}
	e, ok := condition(err)
	if !ok {
		var sent *jsonrpc.Error
		if errors.As(err, &sent) {
			return sent
		}
		e = &Error{
			Condition: ConditionInternal, Message: "internal error",
			Data: data("detail", sanitise(err.Error())),
		}
	}
	d := withReason(e)
	if crash := incident(err); crash != "" {
		d = union(d, data("incident", crash))
	}
	return &jsonrpc.Error{Code: e.Condition.Code(v), Message: e.Message, Data: d}
}

// CodeOf is the JSON-RPC code of Translate(err, v).
func CodeOf(err error, v Version) int64 {
	if e, ok := err.(*Error); ok { // avoids building the data of the error
		return e.Condition.Code(v)
	}
	return Translate(err, v).Code
}

// incident returns the id under which the log has the crash that caused err; empty for none.
func incident(err error) string {
	// The usual case: there is no cause to search.
	if e, ok := err.(*Error); ok && e.Cause == nil {
		return ""
	}
	var crash interface{ Incident() string }
	if errors.As(err, &crash) {
		return crash.Incident()
	}
	return ""
}

// Mapped reports whether Translate has a condition for the error. The caller should log a warning
// for an unmapped error.
func Mapped(err error) bool {
	var sent *jsonrpc.Error
	_, ok := condition(err)
	return ok || errors.As(err, &sent)
}

// FromPeer reports whether a peer sent the error, so that Translate passes it on unchanged.
func FromPeer(err error) bool {
	if _, ours := condition(err); ours {
		return false
	}
	_, sent := errors.AsType[*jsonrpc.Error](err)
	return sent
}

// ConditionOf returns the condition of an error; ConditionInternal for an unmapped one.
func ConditionOf(err error) Condition {
	if e, ok := condition(err); ok {
		return e.Condition
	}
	return ConditionInternal
}

// HTTPStatus is the HTTP status of Translate(err, v). Session says that the request belongs to a
// legacy session.
func HTTPStatus(err error, v Version, session bool) int {
	var sent *jsonrpc.Error
	e, ok := condition(err)
	switch {
	case ok:
		return e.Condition.Status(v, session)
	case errors.As(err, &sent):
		return CodeStatus(sent.Code, v)
	}
	return ConditionInternal.Status(v, session)
}

// AnswerStatus is the HTTP status of an error that answers a request. An error that a server sent
// gets 200, because it is an answer and not a failure of HTTP: clients display another status
// instead of the code. The exception is -32021, which has its own status regardless of its origin.
func AnswerStatus(e *jsonrpc.Error, v Version) int {
	reason, _ := jsonedit.GetString(e.Data, "reason")
	if e.Code == CodeMissingCapability || isReason(reason) {
		return CodeStatus(e.Code, v)
	}
	return 200
}

// isReason reports whether word names a condition. Translate puts that word into data.reason.
func isReason(word string) bool {
	for i := range conditions {
		if conditions[i].word == word {
			return true
		}
	}
	return false
}

// condition returns the *Error that err is, wraps or corresponds to, and false for an unmapped
// error.
func condition(err error) (*Error, bool) {
	// The usual case; errors.As takes ten times as long.
	if e, ok := err.(*Error); ok {
		return e, true
	}
	var e *Error
	var decode *jsonrpc.DecodeError
	var bare Condition
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.As(err, &decode):
		return &Error{Condition: decodeConditions[decode.Reason], Message: decode.Error()}, true
	case errors.As(err, &bare):
		return &Error{Condition: bare, Message: strings.ReplaceAll(bare.String(), "_", " ")}, true
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Condition: ConditionTimeout, Message: "no answer in time"}, true
	}
	return nil, false
}

var decodeConditions = map[jsonrpc.Reason]Condition{
	jsonrpc.ReasonParse:          ConditionParse,
	jsonrpc.ReasonInvalidRequest: ConditionInvalidRequest,
	jsonrpc.ReasonLimits:         ConditionLimits,
	jsonrpc.ReasonTooLarge:       ConditionTooLarge,
}

// retryKey is the member of an error's data that holds the time until a retry, in milliseconds.
const retryKey = "retryAfterMs"

// RetryAfter reads the time until a retry from the data of a translated error; 0 if there is none.
func RetryAfter(e *jsonrpc.Error) time.Duration {
	raw, _ := jsonedit.Get(e.Data, retryKey)
	ms, _ := strconv.ParseInt(string(raw), 10, 32)
	return time.Duration(ms) * time.Millisecond
}

// withReason returns the data of an error as sent: the word of the condition, the time until a
// retry, and then the data of the error.
func withReason(e *Error) jsontext.Value {
	const room = len(`{"reason":"capability_not_supported","retryAfterMs":86400000}`)
	reason := append(make(jsontext.Value, 0, room), `{"reason":"`...)
	reason = append(append(reason, e.Condition.String()...), '"')
	if ms := e.RetryAfter.Milliseconds(); ms > 0 {
		reason = strconv.AppendInt(append(reason, `,"`+retryKey+`":`...), ms, 10)
	}
	reason = append(reason, '}')
	if len(e.Data) == 0 {
		return reason
	}
	return union(reason, e.Data)
}

// ErrorContext is what the host knows about the circumstances of an error. All of it goes to the
// peer within data, except the stack.
type ErrorContext struct {
	RequestID  jsonrpc.ID
	Method     string
	Phase      string
	Version    Version        // the peer's revision
	Stack      string         // for the host only; never sent
	Additional jsontext.Value // an object whose members join data; empty for none
}

// TranslateErrorWithContext returns the response that carries Translate(err, c.Version), with the
// details of c in its data.
func TranslateErrorWithContext(err error, c ErrorContext) jsonrpc.Message {
	e := *Translate(err, c.Version)
	var pairs []string
	if c.Method != "" {
		pairs = append(pairs, "method", truncate(c.Method))
	}
	if c.Phase != "" {
		pairs = append(pairs, "phase", c.Phase)
	}
	e.Data = union(union(e.Data, data(pairs...)), c.Additional)
	return jsonrpc.Failure(c.RequestID, &e)
}

// BuildErrorResponse returns an error response with exactly that code, message and data.
func BuildErrorResponse(id jsonrpc.ID, code int64, message string,
	data jsontext.Value) jsonrpc.Message {
	return jsonrpc.Failure(id, &jsonrpc.Error{Code: code, Message: message, Data: data})
}

// sanitise makes the text of an unknown error safe for a peer. It keeps the first line, removes
// control characters, invisible characters and credentials, and cuts the text to MaxDetail bytes.
func sanitise(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	words := strings.Fields(text)
	for i, w := range words {
		if i > 0 && strings.HasSuffix(strings.ToLower(words[i-1]), "bearer") {
			words[i] = "[redacted]"
			continue
		}
		scheme, rest, ok := strings.Cut(w, "://")
		if !ok {
			continue
		}
		host, _, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			words[i] = scheme + "://[redacted]" + rest[at:]
		}
	}
	return truncate(strings.Join(words, " "))
}
