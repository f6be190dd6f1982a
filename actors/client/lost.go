package client

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
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

// errCrashed is what is told of a crash of the connection itself: the rest is for the host's own log.
var errCrashed = errors.New("the connection crashed")

// blame is what is remembered of an end and told to callers: of a URL also its host, because an address alone says little.
func (c *Connection) blame(reason error) error {
	var crash *otp.CrashReport
	if errors.As(reason, &crash) {
		return errCrashed
	}
	if u, err := url.Parse(c.info().URL); err == nil && u.Host != "" {
		return fmt.Errorf("%s: %w", u.Host, reason)
	}
	return reason
}

// broken is what the caller is told of a call that the transport could not carry to its end while the server lives on: that it was not
// reached, that the line was cut, or what was wrong with its answer.
func (c *Connection) broken(in transport.Inbound) error {
	var status *streamable.StatusError
	cause := c.blame(in.Err)
	if !errors.As(in.Err, &status) && (!in.Written || transport.Severed(in.Err)) {
		return LostError(c.o.Server, in.Written, cause)
	}
	e := protocol.UpstreamInvalid(c.o.Server, cause)
	e.Message += ": " + telemetry.Clean(cause.Error(), protocol.MaxDetail)
	e.Data, _ = splice.Set(e.Data, jsontext.Value(strconv.FormatBool(in.Written)), "maybeExecuted") // e.Data is an object
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
