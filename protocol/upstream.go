package protocol

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Timeout says that no answer came in time.
func Timeout(after time.Duration) *Error {
	return &Error{Condition: ConditionTimeout, Message: "no answer within " + after.String()}
}

// UpstreamLost says that the server went away during the request. MaybeExecuted tells whether it
// may have acted on it, in which case repeating it is the caller's decision.
func UpstreamLost(server string, maybeExecuted bool, cause error) *Error {
	message := "server " + shown(server) + " was lost before it received the request"
	if maybeExecuted {
		message = "server " + shown(server) + " was lost; it may have executed the request"
	}
	return &Error{
		Condition: ConditionUpstreamLost,
		Message:   message,
		Data:      unfinished(server, maybeExecuted),
		Cause:     cause,
	}
}

// UpstreamQuarantined says that the server is not used, until an operator releases it or a probe
// finds that it works again. MaybeExecuted is as for UpstreamLost: the request may have been there
// when it was put away.
func UpstreamQuarantined(server string, maybeExecuted bool, cause error) *Error {
	e := &Error{
		Condition: ConditionUpstreamQuarantined,
		Message:   "server " + shown(server) + " is quarantined",
		Data:      unfinished(server, maybeExecuted),
		Cause:     cause,
	}
	if maybeExecuted {
		e.Message += "; it may have executed the request"
	}
	return e
}

// UpstreamRemoved says that a reload has removed the server from the configuration. Repeating the
// request does not help, whatever it is. MaybeExecuted is as for UpstreamLost.
func UpstreamRemoved(server string, maybeExecuted bool, cause error) *Error {
	e := &Error{
		Condition: ConditionUpstreamRemoved,
		Message:   "server " + shown(server) + " was removed from the configuration",
		Data:      unfinished(server, maybeExecuted), Cause: cause,
	}
	e.Data, _ = splice.Set(e.Data, jsontext.Value("false"), "retryable") // e.Data is an object
	if maybeExecuted {
		e.Message += "; it may have executed the request"
	}
	return e
}

// Stopping says that the host goes down before the server has answered, empty for a request that no
// server was chosen for. MaybeExecuted is as for UpstreamLost.
func Stopping(server string, maybeExecuted bool) *Error {
	message := "the host is stopping; server " + shown(server) + " did not receive the request"
	switch {
	case server == "":
		message = "the host is stopping; no server received the request"
	case maybeExecuted:
		message = "the host is stopping; server " + shown(server) + " may have executed the request"
	}
	return &Error{
		Condition: ConditionStopping,
		Message:   message,
		Data:      unfinished(server, maybeExecuted),
	}
}

// Restarted says that the host was killed during the request, and another that knows no more has
// taken its place.
func Restarted() *Error {
	return &Error{
		Condition: ConditionUpstreamLost,
		Message:   "the host was restarted during the request; a server may have executed it",
		Data:      jsontext.Value(`{"maybeExecuted":true,"retryable":false}`),
	}
}

// Forgotten says that the host itself lost track of a request in a crash.
func Forgotten(server string, cause error) *Error {
	return &Error{
		Condition: ConditionInternal,
		Message: "the host lost track of this in a crash; server " + shown(
			server,
		) + " may have executed it",
		Data:  unfinished(server, true),
		Cause: cause,
	}
}

// Unanswered is the error of a request to a server that ended without it, as for its deadline.
// MaybeExecuted is as for UpstreamLost.
func (e *Error) Unanswered(server string, maybeExecuted bool) *Error {
	about := *e
	about.Data = union(unfinished(server, maybeExecuted), e.Data)
	return &about
}

// Because adds to an error what is known of its cause.
func (e *Error) Because(why *Error) *Error {
	about := *e
	about.Message += why.Message
	about.Data = union(e.Data, why.Data)
	return &about
}

// Cut is the error of a request that ended because of e, as TenantDown. Server is empty for a
// request that no server was chosen for; maybeExecuted is as for UpstreamLost.
func (e *Error) Cut(server string, maybeExecuted bool) *Error {
	about := e.Unanswered(server, maybeExecuted)
	switch {
	case maybeExecuted && server == "":
		about.Message += "; a server may have executed the request"
	case maybeExecuted:
		about.Message += "; server " + shown(server) + " may have executed the request"
	case server == "":
		about.Message += "; no server received the request"
	default:
		about.Message += "; server " + shown(server) + " did not receive the request"
	}
	return about
}

// reading are the requests that change nothing at a server. tools/call is not among them, whatever
// the tool says of itself.
var reading = map[string]bool{
	"tools/list":               true,
	"prompts/list":             true,
	"resources/list":           true,
	"resources/templates/list": true,
	"resources/read":           true,
	"prompts/get":              true,
	"completion/complete":      true,
}

// OnlyReads reports whether a request of that method changes nothing at a server, so that to repeat
// it is safe.
func OnlyReads(method string) bool { return reading[method] }

// Repeating completes the error of a request of that method which has no answer: it is retryable,
// even if it was executed, where it only reads.
func (e *Error) Repeating(method string) *Error {
	if OnlyReads(method) {
		e.Data = jsontext.Value(
			bytes.Replace(e.Data, []byte(`"retryable":false`), []byte(`"retryable":true`), 1),
		)
	}
	return e
}

// unfinished is the data of a request that has no answer. Retryable says that to repeat it is safe.
func unfinished(server string, maybeExecuted bool) jsontext.Value {
	d := jsontext.Value(`{"maybeExecuted":`)
	if server != "" { // it is known which was meant
		d = data("server", server)
		d = append(d[:len(d)-1], `,"maybeExecuted":`...)
	}
	d = strconv.AppendBool(d, maybeExecuted)
	d = append(d, `,"retryable":`...)
	d = strconv.AppendBool(d, !maybeExecuted)
	return append(d, '}')
}

// UpstreamUnavailable says that the server did not take the request, and may later: after
// retryAfter, if it has said so.
func UpstreamUnavailable(server string, retryAfter time.Duration, cause error) *Error {
	return &Error{
		Condition:  ConditionUpstreamUnavailable,
		Message:    "server " + shown(server) + " refused the request for now",
		Data:       unfinished(server, false),
		RetryAfter: retryAfter,
		Cause:      cause,
	}
}

// UpstreamInvalid says that the server answered with something that its revision's schema does not
// allow. It may have executed the request, and would answer a second time as it did.
func UpstreamInvalid(server string, cause error) *Error {
	return &Error{
		Condition: ConditionUpstreamInvalid,
		Message:   "server " + shown(server) + " sent an invalid answer",
		Data:      unfinished(server, true),
		Cause:     cause,
	}
}
