package main

import (
	"errors"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// event translates a message or control signal of the connection into an event for the link. The
// mutex is not held.
func (b *bridge) event(in transport.Inbound) (e reconnect.Event, ok bool) {
	switch control := in.Control.(type) {
	case nil:
	case streamable.Unreached:
		return reconnect.Event{Op: reconnect.Unreachable, Why: b.why(control.Err)}, true
	case streamable.Undelivered:
		e = b.failure(control.Err, false)
		e.Op, e.Method, e.ID = reconnect.Undelivered, control.Method, control.ID
		return e, true
	default:
		return e, false
	}
	switch {
	case in.Err != nil:
		e = b.failure(in.Err, in.Written)
		e.Op, e.ID = reconnect.Failed, in.RequestID
	case in.Message.Method == "":
		e = reconnect.Event{Op: reconnect.Answer, Message: in.Message}
		if in.Message.Error != nil && stopping(in.Message.Error) {
			e = reconnect.Event{
				Op: reconnect.Failed, Cause: reconnect.Stopping, ID: in.Message.ID,
				After: protocol.RetryAfter(in.Message.Error),
				Why:   b.endpoint + ": " + in.Message.Error.Message,
			}
		}
	default:
		e = reconnect.Event{Op: reconnect.HostSent, ID: in.RequestID, Message: in.Message}
	}
	return e, true
}

// ended returns the event for the end of the connection.
func (b *bridge) ended(err error) reconnect.Event {
	e := reconnect.Event{Op: reconnect.Disconnected, Cause: reconnect.Broken, Why: b.why(err)}
	if errors.Is(err, streamable.ErrSessionLost) {
		e.Cause = reconnect.SessionLost
	}
	return e
}

// unsent returns the event for a message that could not be sent.
func (b *bridge) unsent(m jsonrpc.Message, err error) (e reconnect.Event, ok bool) {
	e = reconnect.Event{
		Op: reconnect.Failed, ID: m.ID, Method: m.Method, Cause: reconnect.Broken, Why: b.why(err),
	}
	full := errors.Is(err, transport.ErrSlowConsumer)
	if m.Kind() != jsonrpc.KindRequest {
		// The connection is over. A Cut event follows.
		if !full {
			return e, false
		}
		e.Op = reconnect.Undelivered
	}
	if full {
		e.Cause = reconnect.Later
		e.Err = protocol.Translate(protocol.Overloaded("mcpd stdio", 0), b.link.Version())
	}
	return e, true
}

// failure returns the event for a request that has failed with err.
func (b *bridge) failure(err error, written bool) reconnect.Event {
	e := reconnect.Event{Cause: reconnect.Broken, Written: written, Why: b.why(err)}
	var status *streamable.StatusError
	switch {
	case errors.Is(err, streamable.ErrSessionLost):
		e.Cause = reconnect.SessionLost
	case transport.IsUnreachable(err) && !written:
		e.Cause = reconnect.Unreached
	case !errors.As(err, &status):
	case status.RetryLater():
		e.Cause, e.After, e.Err = reconnect.Later, status.RetryAfter, b.refusal(status)
		// The host is reachable.
		b.lastFailure.Store(nil)
		if stopping(e.Err) {
			e.Cause = reconnect.Stopping
		}
	case !written && !status.Gateway():
		e.Cause, e.Err = reconnect.Refused, b.refusal(status)
	}
	return e
}

// stopping reports whether an error says that a host is about to stop and has not accepted the
// request.
func stopping(e *jsonrpc.Error) bool {
	reason, _ := jsonedit.GetString(e.Data, "reason")
	executed := jsonedit.Kind(e.Data, "maybeExecuted") == 't'
	return reason == protocol.ConditionStopping.String() && !executed
}

// refusal returns the error for a request that the host does not accept. For a wrong key it
// explains that the key is the one of this process, because the client has none.
func (b *bridge) refusal(status *streamable.StatusError) *jsonrpc.Error {
	if answer := rpcErrorOf(status); answer != nil {
		if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			answer.Message = b.why(status)
		}
		return answer
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: b.why(status)}
}

// why describes where the host should be, the fault, and what the user can do about it. It also
// keeps the fault for the exit code.
func (b *bridge) why(err error) string {
	told := unreachable(b.endpoint, err)
	if !errors.Is(err, transport.ErrClosed) {
		b.lastFailure.Store(told)
	}
	var status *streamable.StatusError
	advice := ""
	if errors.As(err, &status) {
		advice = remedies[status.Status]
	}
	return telemetry.Clean(told.Error(), maxLogLine-len(advice)) + advice
}

// remedies are the steps that a user of `mcpd stdio` can take after a refusal.
var remedies = map[int]string{
	http.StatusUnauthorized: "; set MCPD_KEY to a key of the tenant, where this client starts `mcpd " +
		"stdio`",
	http.StatusForbidden: "; set MCPD_KEY to a key of the tenant, where this client starts `mcpd " +
		"stdio`",
	http.StatusNotFound: "; see --tenant, --server and --url of `mcpd stdio`",
}
