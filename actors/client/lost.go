package client

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// LostError is what a caller is told of a server that is gone, or cannot be started: how it ended, and the end of what it wrote to its
// standard error. Both are the tenant's own server's words, so the tenant's clients may read them. The method is that of their request, empty
// where there is none yet.
func LostError(server, method string, maybeExecuted bool, cause error) *protocol.Error {
	e := protocol.UpstreamLost(server, maybeExecuted, cause).Repeating(method)
	if cause == nil {
		return e
	}
	end := EndingOf(cause)
	e.Message += ": " + end.Text
	for _, part := range [][2]string{{"cause", end.Cause}, {"stderr", end.Stderr}, {"incident", end.Incident}} {
		if part[1] != "" {
			e.Data, _ = splice.Set(e.Data, splice.Quote(part[1]), part[0]) // e.Data is an object
		}
	}
	if end.Permanent {
		e.Data, _ = splice.Set(e.Data, jsontext.Value("false"), "retryable")
	}
	return e
}

// blame is what is remembered of an end and told to callers: of a URL also its host, because an address alone says little. Endings that follow
// one another without the server having been ready are one incident.
func (c *Connection) blame(reason error) *Ending {
	var known *Ending
	if errors.As(reason, &known) {
		return known
	}
	var crash *otp.CrashReport
	if errors.As(reason, &crash) { // the rest is for the host's own log
		c.incident = crash.Incident()
		return &Ending{Cause: causeCrashed, Text: "the connection crashed", Incident: c.incident, err: reason}
	}
	if c.incident == "" {
		c.incident = otp.IncidentID(c.p.Path(), c.p.Now())
	}
	end := *EndingOf(c.hosted(reason))
	end.Incident = c.incident
	return &end
}

// hosted names the host of a URL that an error is about.
func (c *Connection) hosted(err error) error {
	if u, e := url.Parse(c.info().URL); e == nil && u.Host != "" {
		return fmt.Errorf("%s: %w", u.Host, err)
	}
	return err
}

// broken is what the caller is told of a call that the transport could not carry to its end while the server lives on: that it was not
// reached, that the line was cut, that it refused, or what was wrong with its answer.
func (c *Connection) broken(method string, in transport.Inbound) error {
	var status *streamable.StatusError
	cause := c.hosted(in.Err)
	answered := errors.As(in.Err, &status)
	if answered && status.Gateway() || !answered && (!in.Written || transport.Severed(in.Err)) {
		return LostError(c.o.Server, method, in.Written, cause)
	}
	e := protocol.UpstreamInvalid(c.o.Server, cause)
	switch {
	case answered && status.Later():
		e = protocol.UpstreamUnavailable(c.o.Server, status.RetryAfter, cause)
	case answered && !in.Written:
		e.Message = "server " + strconv.Quote(c.o.Server) + " refused the request"
	}
	e.Message += ": " + telemetry.Clean(cause.Error(), protocol.MaxDetail)
	e.Data, _ = splice.Set(e.Data, jsontext.Value(strconv.FormatBool(in.Written)), "maybeExecuted") // e.Data is an object
	return e
}
