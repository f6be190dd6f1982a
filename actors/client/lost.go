package client

import (
	"errors"
	"strings"

	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/telemetry"
	"mcpd/transport"
)

// LostError is what a caller is told of a server that is gone, or cannot be started: how it ended, and the end of what it wrote to its
// standard error. Both are the tenant's own server's words, so the tenant's clients may read them.
func LostError(server string, maybeExecuted bool, cause error) *protocol.Error {
	e := protocol.UpstreamLost(server, maybeExecuted, cause)
	if cause == nil {
		return e
	}
	e.Message += ": " + telemetry.Clean(cause.Error(), protocol.MaxDetail)
	set := func(name, text string) { e.Data, _ = splice.Set(e.Data, splice.Quote(text), name) } // e.Data is an object
	set("cause", causeOf(cause))
	if tail := stderrOf(cause); tail != "" {
		set("stderr", tail)
	}
	return e
}

// stderrOf is the end of what a program wrote to its standard error, fit to be shown.
func stderrOf(err error) string {
	var exit *transport.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	return telemetry.Clean(strings.TrimSpace(string(exit.Stderr)), telemetry.MaxValue)
}
