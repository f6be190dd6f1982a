package protocol

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Timeout returns the error of a request that had no answer within the given time.
func Timeout(after time.Duration) *Error {
	return &Error{Condition: ConditionTimeout, Message: "no answer within " + after.String()}
}

// UpstreamLost returns the error of a request whose server went away. MaybeExecuted says that the
// server may have acted on the request; the caller then has to decide whether to repeat it.
func UpstreamLost(server string, maybeExecuted bool, cause error) *Error {
	message := "server " + quoted(server) + " was lost before it received the request"
	if maybeExecuted {
		message = "server " + quoted(server) + " was lost; it may have executed the request"
	}
	return &Error{
		Condition: ConditionUpstreamLost,
		Message:   message,
		Data:      unansweredData(server, maybeExecuted),
		Cause:     cause,
	}
}

// UpstreamQuarantined returns the error of a request to a quarantined server. The host does not use
// such a server until an operator releases it or a probe succeeds. MaybeExecuted has the same
// meaning as for UpstreamLost: the server may have received the request before the quarantine
// began.
func UpstreamQuarantined(server string, maybeExecuted bool, cause error) *Error {
	e := &Error{
		Condition: ConditionUpstreamQuarantined,
		Message:   "server " + quoted(server) + " is quarantined",
		Data:      unansweredData(server, maybeExecuted),
		Cause:     cause,
	}
	if maybeExecuted {
		e.Message += "; it may have executed the request"
	}
	return e
}

// UpstreamRemoved returns the error of a request whose server was removed by a reload of the
// configuration. The error is never retryable. MaybeExecuted has the same meaning as for
// UpstreamLost.
func UpstreamRemoved(server string, maybeExecuted bool, cause error) *Error {
	e := &Error{
		Condition: ConditionUpstreamRemoved,
		Message:   "server " + quoted(server) + " was removed from the configuration",
		Data:      unansweredData(server, maybeExecuted), Cause: cause,
	}
	// e.Data is an object, so Set cannot fail.
	e.Data, _ = jsonedit.Set(e.Data, jsontext.Value("false"), "retryable")
	if maybeExecuted {
		e.Message += "; it may have executed the request"
	}
	return e
}

// Stopping returns the error of a request that the shutdown of the host cuts off. Server is empty
// if no server was chosen for the request. MaybeExecuted has the same meaning as for UpstreamLost.
func Stopping(server string, maybeExecuted bool) *Error {
	message := "the host is stopping; server " + quoted(server) + " did not receive the request"
	switch {
	case server == "":
		message = "the host is stopping; no server received the request"
	case maybeExecuted:
		message = "the host is stopping; server " + quoted(server) + " may have executed the request"
	}
	return &Error{
		Condition: ConditionStopping,
		Message:   message,
		Data:      unansweredData(server, maybeExecuted),
	}
}

// Restarted returns the error of a request that was in flight when the host was killed. The new
// host process does not know the server of the request. A server may have executed it, so the error
// is not retryable.
func Restarted() *Error {
	return &Error{
		Condition: ConditionUpstreamLost,
		Message:   "the host was restarted during the request; a server may have executed it",
		Data:      jsontext.Value(`{"maybeExecuted":true,"retryable":false}`),
	}
}

// LostInCrash returns the error of a request that the host lost track of in a crash of its own. The
// server may have executed the request.
func LostInCrash(server string, cause error) *Error {
	return &Error{
		Condition: ConditionInternal,
		Message: "the host lost track of the request in a crash; server " + quoted(
			server,
		) + " may have executed it",
		Data:  unansweredData(server, true),
		Cause: cause,
	}
}

// WithoutAnswer returns a copy of e for a request that ended without an answer from the server, for
// example because of its deadline. The copy's data name the server and whether the request is
// retryable. MaybeExecuted has the same meaning as for UpstreamLost.
func (e *Error) WithoutAnswer(server string, maybeExecuted bool) *Error {
	about := *e
	about.Data = union(unansweredData(server, maybeExecuted), e.Data)
	return &about
}

// WithCause returns a copy of e that appends the message of why and adds its data.
func (e *Error) WithCause(refusal *Error) *Error {
	about := *e
	about.Message += refusal.Message
	about.Data = union(e.Data, refusal.Data)
	return &about
}

// EndedBeforeAnswer returns a copy of e for a request that ended because of e, where e is for
// example from TenantDown. Server is empty if no server was chosen for the request. MaybeExecuted
// has the same meaning as for UpstreamLost.
func (e *Error) EndedBeforeAnswer(server string, maybeExecuted bool) *Error {
	about := e.WithoutAnswer(server, maybeExecuted)
	switch {
	case maybeExecuted && server == "":
		about.Message += "; a server may have executed the request"
	case maybeExecuted:
		about.Message += "; server " + quoted(server) + " may have executed the request"
	case server == "":
		about.Message += "; no server received the request"
	default:
		about.Message += "; server " + quoted(server) + " did not receive the request"
	}
	return about
}

// readOnlyMethods holds the methods that change nothing at a server. It excludes tools/call,
// whatever annotations the tool has.
var readOnlyMethods = map[string]bool{
	"tools/list":               true,
	"prompts/list":             true,
	"resources/list":           true,
	"resources/templates/list": true,
	"resources/read":           true,
	"prompts/get":              true,
	"completion/complete":      true,
}

// IsReadOnly reports whether a request with that method changes nothing at a server, so that it is
// safe to repeat.
func IsReadOnly(method string) bool { return readOnlyMethods[method] }

// MarkRetryable marks e as retryable if the method only reads, even if the request was executed.
// The error e must be that of a request with that method that has no answer. Repeating changes e
// and returns it.
func (e *Error) MarkRetryable(method string) *Error {
	if IsReadOnly(method) {
		e.Data = jsontext.Value(
			bytes.Replace(e.Data, []byte(`"retryable":false`), []byte(`"retryable":true`), 1),
		)
	}
	return e
}

// unansweredData returns the data of the error of a request that has no answer. Its member
// retryable says that the request is safe to repeat.
func unansweredData(server string, maybeExecuted bool) jsontext.Value {
	d := jsontext.Value(`{"maybeExecuted":`)
	if server != "" { // empty if no server was chosen
		d = data("server", server)
		d = append(d[:len(d)-1], `,"maybeExecuted":`...)
	}
	d = strconv.AppendBool(d, maybeExecuted)
	d = append(d, `,"retryable":`...)
	d = strconv.AppendBool(d, !maybeExecuted)
	return append(d, '}')
}

// UpstreamUnavailable returns the error of a request that the server refused for now. RetryAfter is
// the time that the server asked to wait; 0 if the server named none. The request was not executed.
func UpstreamUnavailable(server string, retryAfter time.Duration, cause error) *Error {
	return &Error{
		Condition:  ConditionUpstreamUnavailable,
		Message:    "server " + quoted(server) + " refused the request for now",
		Data:       unansweredData(server, false),
		RetryAfter: retryAfter,
		Cause:      cause,
	}
}

// UpstreamInvalid returns the error of a request whose answer violates the schema of the server's
// revision. The server may have executed the request, and would answer a second attempt in the same
// way.
func UpstreamInvalid(server string, cause error) *Error {
	return &Error{
		Condition: ConditionUpstreamInvalid,
		Message:   "server " + quoted(server) + " sent an invalid answer",
		Data:      unansweredData(server, true),
		Cause:     cause,
	}
}
