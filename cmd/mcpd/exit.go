package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Exit codes, with the values of sysexits where it has one.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitUnavailable = 69
	exitBusy        = 75
	exitPermission  = 77
	exitConfig      = 78
	exitInterrupted = 130
)

// exitCodes describes each code: in brief for the help and README.md, in full for
// docs/exit-codes.gen.md, which also lists the situations that end with each code.
var exitCodes = []struct {
	code        int
	brief, full string
}{
	{exitOK, "success", "The command succeeded."},
	{exitFailure, "failure", "The host or the server answered with a failure, or did not answer in " +
		"time (the request may have been executed), or the output could not be written."},
	{exitUsage, "wrong usage",
		"The command line or an environment variable is not valid. Nothing was sent."},
	{exitUnavailable, "not available",
		"No host answers, or the host has no such server or tenant, or does not serve it now. " +
			"Nothing was executed."},
	{exitBusy, "another chaos run uses the host", "Another `mcpd chaos run` uses the host."},
	{exitPermission, "permission denied",
		"The key or the token is missing, is wrong or does not allow this, " +
			"or the host allows this to nobody."},
	{exitConfig, "invalid configuration", "The configuration has mistakes. Nothing has changed."},
	{exitInterrupted, "interrupted", "A signal interrupted the command before it had finished."},
}

// exitLine returns all codes in one line.
func exitLine() string {
	var each []string
	for _, e := range exitCodes {
		each = append(each, fmt.Sprintf("  %-3d  %s", e.code, e.brief))
	}
	return "Exit codes:\n" + strings.Join(each, "\n")
}

// failure is an error with its exit code.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// unreachable explains why an endpoint could not be used, with the host's own text if there is
// any.
func unreachable(endpoint string, err error) *failure {
	var known *failure
	var status *streamable.StatusError
	var answer *jsonrpc.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &status):
		return refusal(endpoint, status)
	case errors.As(err, &answer):
		return &failure{exitUnavailable, fmt.Errorf("%s: %w", endpoint, withDetails(answer))}
	case transport.IsUnreachable(err), errors.Is(err, context.DeadlineExceeded):
		return &failure{exitUnavailable, fmt.Errorf("no host answers at %s: %w", endpoint, err)}
	}
	return &failure{exitUnavailable, fmt.Errorf("%s: %w", endpoint, err)}
}

// unanswered explains why a call has no result. The call was waited for as long as timeout.
func unanswered(endpoint string, timeout time.Duration, err error) *failure {
	var status *streamable.StatusError
	var answer *jsonrpc.Error
	switch {
	case errors.As(err, &answer):
		return &failure{answerCode(answer), withDetails(answer)}
	case errors.As(err, &status):
		return refusal(endpoint, status)
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{
			exitFailure,
			fmt.Errorf("no answer within %s, the request may have been executed: %w", timeout, err),
		}
	case transport.IsUnreachable(err), errors.Is(err, streamable.ErrSessionLost):
		return &failure{
			exitUnavailable, fmt.Errorf("%s went away before it received the request: %w", endpoint, err),
		}
	}
	return &failure{
		exitFailure, fmt.Errorf("%s went away, the request may have been executed: %w", endpoint, err),
	}
}

// answerCode returns the exit code for an error that a host or a server answered. If the error
// says that nothing was executed, the code blames the server, not the request.
func answerCode(answer *jsonrpc.Error) int {
	retryable, executed := jsonedit.Kind(answer.Data, "retryable"), jsonedit.Kind(answer.Data,
		"maybeExecuted")
	if executed == 'f' || executed == 0 && retryable == 't' {
		return exitUnavailable
	}
	return exitFailure
}

// refusal describes what a host answered instead of an MCP message.
func refusal(endpoint string, status *streamable.StatusError) *failure {
	answer := rpcErrorOf(status)
	text := telemetry.Clean(status.Body, 200)
	switch {
	case answer == nil && status.Location != "":
		text = fmt.Sprintf("redirect to %s not followed", telemetry.Clean(status.Location, 200))
	case answer != nil:
		text = answer.Message
		if incident, ok := jsonedit.GetString(answer.Data, "incident"); ok {
			text += "\nincident: " + telemetry.Clean(incident, telemetry.MaxValue)
		}
	}
	text = fmt.Sprintf("%d %s: %s", status.Status, http.StatusText(status.Status), text)
	switch {
	case status.Status == http.StatusUnauthorized, status.Status == http.StatusForbidden:
		return &failure{
			exitPermission,
			fmt.Errorf("%s refuses the key in $MCPD_KEY, or $MCPD_KEY is not set: %s", endpoint, text),
		}
	case answer == nil, status.NotServed(), status.RetryLater():
		return &failure{exitUnavailable, fmt.Errorf("%s: %s", endpoint, text)}
	}
	return &failure{answerCode(answer), fmt.Errorf("%s: %s", endpoint, text)}
}

// rpcErrorOf returns the JSON-RPC error with which a host refuses a request. It is nil for other
// bodies, such as those of a proxy.
func rpcErrorOf(status *streamable.StatusError) *jsonrpc.Error {
	m, err := jsonrpc.Decode([]byte(status.Body), jsonrpc.Limits{})
	if err != nil {
		return nil
	}
	return m.Error
}

// withDetails adds the standard error and the incident of a dead server from the error's data to
// the error.
func withDetails(answer *jsonrpc.Error) error {
	err := error(answer)
	for _, name := range []string{"stderr", "incident"} {
		if text, ok := jsonedit.GetString(answer.Data, name); ok {
			err = fmt.Errorf("%w\n%s: %s", err, name, telemetry.Clean(text, telemetry.MaxValue))
		}
	}
	return err
}
