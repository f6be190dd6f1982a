package protocol

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// Translate says err to a peer of that revision (S4-74). It knows *Error, what jsonrpc.Decode returns, a deadline that passed, and
// *jsonrpc.Error, which a server sent and which passes as it is. Anything else is an internal error with a sanitised detail; Mapped tells
// whether that happened, so that the host can log it.
func Translate(err error, v Version) *jsonrpc.Error {
	if sent, ok := err.(*jsonrpc.Error); ok { // it wraps nothing
		return sent
	}
	e, ok := condition(err)
	if !ok {
		var sent *jsonrpc.Error
		if errors.As(err, &sent) {
			return sent
		}
		e = &Error{Condition: ConditionInternal, Message: "internal error", Data: data("detail", sanitise(err.Error()))}
	}
	d := withReason(e)
	if crash := incident(err); crash != "" {
		d = union(d, data("incident", crash))
	}
	return &jsonrpc.Error{Code: e.Condition.Code(v), Message: e.Message, Data: d}
}

// CodeOf is the code of Translate(err, v).
func CodeOf(err error, v Version) int64 {
	if e, ok := err.(*Error); ok { // nothing has to be written for it
		return e.Condition.Code(v)
	}
	return Translate(err, v).Code
}

// incident is what the log calls the crash that err comes from; empty for none.
func incident(err error) string {
	if e, ok := err.(*Error); ok && e.Cause == nil { // as most are: there is nothing to search
		return ""
	}
	var crash interface{ Incident() string }
	if errors.As(err, &crash) {
		return crash.Incident()
	}
	return ""
}

// Mapped reports whether Translate knows the error. One that it does not know deserves a warning in the log (S4-85).
func Mapped(err error) bool {
	var sent *jsonrpc.Error
	_, ok := condition(err)
	return ok || errors.As(err, &sent)
}

// Theirs reports whether an error is one that a peer sent, which Translate passes on as it is.
func Theirs(err error) bool {
	if _, ours := condition(err); ours {
		return false
	}
	_, sent := errors.AsType[*jsonrpc.Error](err)
	return sent
}

// ConditionOf is the condition that an error amounts to.
func ConditionOf(err error) Condition {
	if e, ok := condition(err); ok {
		return e.Condition
	}
	return ConditionInternal
}

// HTTPStatus is the status that goes with Translate(err, v).
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
// is passed on with 200, because it is an answer and no failure of HTTP: clients show the status
// of others in place of the code. Only -32021 has its status wherever it comes from.
func AnswerStatus(e *jsonrpc.Error, v Version) int {
	reason, _ := splice.GetString(e.Data, "reason")
	if e.Code == CodeMissingCapability || isReason(reason) {
		return CodeStatus(e.Code, v)
	}
	return 200
}

// isReason says that a word is a condition's, which Translate puts into data.reason.
func isReason(word string) bool {
	for i := range conditions {
		if conditions[i].word == word {
			return true
		}
	}
	return false
}

// condition finds what err amounts to.
func condition(err error) (*Error, bool) {
	if e, ok := err.(*Error); ok { // as most are: a search takes ten times as long
		return e, true
	}
	var e *Error
	var decode *jsonrpc.DecodeError
	var bare Condition
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.As(err, &decode):
		return &Error{Condition: refusals[decode.Reason], Message: decode.Error()}, true
	case errors.As(err, &bare):
		return &Error{Condition: bare, Message: strings.ReplaceAll(bare.String(), "_", " ")}, true
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Condition: ConditionTimeout, Message: "no answer in time"}, true
	}
	return nil, false
}

var refusals = map[jsonrpc.Reason]Condition{
	jsonrpc.ReasonParse:          ConditionParse,
	jsonrpc.ReasonInvalidRequest: ConditionInvalidRequest,
	jsonrpc.ReasonLimits:         ConditionLimits,
	jsonrpc.ReasonTooLarge:       ConditionTooLarge,
}

// retryKey is the member of an error's data that says when to try again, in milliseconds.
const retryKey = "retryAfterMs"

// RetryAfter reads from an error what Translate said of trying again; 0 for nothing.
func RetryAfter(e *jsonrpc.Error) time.Duration {
	raw, _ := splice.Get(e.Data, retryKey)
	ms, _ := strconv.ParseInt(string(raw), 10, 32)
	return time.Duration(ms) * time.Millisecond
}

// withReason is the data of an error on the wire: the condition's word, when to try again, then what the error says.
func withReason(e *Error) jsontext.Value {
	const room = len(`{"reason":"capability_not_supported","retryAfterMs":86400000}`)
	reason := append(make(jsontext.Value, 0, room), `{"reason":"`...)
	reason = append(append(reason, e.Condition.String()...), '"') // in snake case
	if ms := e.RetryAfter.Milliseconds(); ms > 0 {
		reason = strconv.AppendInt(append(reason, `,"`+retryKey+`":`...), ms, 10)
	}
	reason = append(reason, '}')
	if len(e.Data) == 0 {
		return reason
	}
	return union(reason, e.Data)
}

// ErrorContext is what is known about the circumstances of an error (S4-73). It is told to the peer within data, except the stack.
type ErrorContext struct {
	RequestID  jsonrpc.ID
	Method     string
	Phase      string
	Version    Version        // of the peer
	Stack      string         // for the host only
	Additional jsontext.Value // an object whose members are added to data; empty for none
}

// TranslateErrorWithContext is the response that tells err to the peer, with what else is known (S4-75).
func TranslateErrorWithContext(err error, c ErrorContext) jsonrpc.Message {
	e := *Translate(err, c.Version)
	var pairs []string
	if c.Method != "" {
		pairs = append(pairs, "method", cut(c.Method))
	}
	if c.Phase != "" {
		pairs = append(pairs, "phase", c.Phase)
	}
	e.Data = union(union(e.Data, data(pairs...)), c.Additional)
	return jsonrpc.Failure(c.RequestID, &e)
}

// BuildErrorResponse is the response with exactly that code, message and data (S4-76).
func BuildErrorResponse(id jsonrpc.ID, code int64, message string, data jsontext.Value) jsonrpc.Message {
	return jsonrpc.Failure(id, &jsonrpc.Error{Code: code, Message: message, Data: data})
}

// sanitise makes the text of an unknown error fit for a peer: its first line, no control or invisible characters, no credentials,
// bounded.
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
	return cut(strings.Join(words, " "))
}
