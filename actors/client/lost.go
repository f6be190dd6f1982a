package client

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// LostError returns the error for any caller of a server that is gone or cannot be started. The
// error says how the server ended. It includes the end of the server's standard error unless that
// may be about somebody else's call. The method is that of the caller's request, empty if there is
// none yet.
func LostError(server, method string, maybeExecuted bool, cause error) *protocol.Error {
	return LostTo("", server, method, maybeExecuted, cause)
}

// LostTo is LostError for a caller of that principal.
func LostTo(principal, server, method string, maybeExecuted bool, cause error) *protocol.Error {
	if cause == nil {
		return protocol.UpstreamLost(server, maybeExecuted, cause).MarkRetryable(method)
	}
	end := EndingOf(cause)
	e := protocol.UpstreamLost(server, maybeExecuted, cause)
	switch {
	case end.Cause == causeRemoved:
		e = protocol.UpstreamRemoved(server, maybeExecuted, cause)
	case end.Permanent:
		e = protocol.UpstreamQuarantined(server, maybeExecuted, cause)
	}
	return tellsOf(e.MarkRetryable(method), principal, end)
}

// QuarantinedError returns the error for a caller of that principal, for a server that is
// quarantined for a cause.
func QuarantinedError(principal, server string, cause error) *protocol.Error {
	return tellsOf(protocol.UpstreamQuarantined(server, false, cause), principal, EndingOf(cause))
}

// tellsOf adds to an error how the server ended.
func tellsOf(e *protocol.Error, principal string, end *Ending) *protocol.Error {
	e.Message += ": " + end.Text
	stderr := end.Stderr
	if end.Withheld(principal) {
		stderr = ""
	}
	for _, part := range [][2]string{{"cause", end.Cause}, {"stderr", stderr},
		{"incident", end.Incident}} {
		if part[1] != "" {
			e.Data, _ = jsonedit.Set(e.Data, jsonedit.Quote(part[1]), part[0]) // e.Data is an object
		}
	}
	if end.Permanent {
		e.Data, _ = jsonedit.Set(e.Data, jsontext.Value("false"), "retryable")
	}
	return e
}

// withholding counts callers who are not told what their server last wrote to its standard error,
// because it may be about another's call.
type withholding struct{ n uint32 }

// lost returns the error for the caller of x, and counts it if output of the server was withheld.
func (w *withholding) lost(server string, x *request.Exchange, maybeExecuted bool,
	cause error) error {
	if cause != nil && EndingOf(cause).Withheld(x.Principal) {
		w.n++
	}
	return LostTo(x.Principal, server, x.Method, maybeExecuted, cause)
}

// tell reports the count.
func (w withholding) tell(o Options) {
	if w.n > 0 {
		o.Emit(StderrWithheld(telemetry.Where{Tenant: o.Tenant, Server: o.Server}, w.n))
	}
}

// StderrWithheld says that n callers were not told what their server last wrote.
func StderrWithheld(at telemetry.Where, n uint32) telemetry.NotificationDropped {
	return telemetry.NotificationDropped{Where: at, Method: "stderr", Reason: unowned, Count: n}
}

// blame turns the reason of an end into the ending that is remembered and told to callers. For a
// URL it names the host, because an address alone says little. Endings that follow one another
// without the server having been ready are one incident.
func (c *Connection) blame(reason error) *Ending {
	var known *Ending
	if errors.As(reason, &known) {
		return known
	}
	var crash *otp.CrashReport
	if errors.As(reason, &crash) { // the rest is for the host's own log
		c.incident = crash.Incident()
		return &Ending{
			Cause: causeCrashed, Text: "the connection crashed", Incident: c.incident, err: reason,
		}
	}
	if c.incident == "" {
		c.incident = otp.IncidentID(c.p.Path(), c.p.Now())
		if c.remote() {
			var first bool
			c.incident, first = c.o.Known.began(c.readyAt, c.p.Now(), c.incident)
			c.quiet = !first
		}
	}
	end := *EndingOf(c.hosted(reason))
	end.Incident, end.Readers = c.incident, c.served.readers(c.o.ShareLogs)
	if end.Starts = c.fails.n; c.state == Starting {
		end.Starts++ // the current start
	}
	return &end
}

// hosted adds the host of the URL to an error.
func (c *Connection) hosted(err error) error {
	if u, e := url.Parse(c.info().URL); e == nil && u.Host != "" {
		return fmt.Errorf("%s: %w", u.Host, err)
	}
	return err
}

// lostError returns the error for the caller of x after an end, also after one that blame has not
// seen yet.
func (c *Connection) lostError(x *request.Exchange, maybeExecuted bool, cause error) error {
	end := *EndingOf(cause)
	if c.removed {
		end = *Removed(&end)
	}
	if end.Incident == "" {
		end.Readers = c.served.readers(c.o.ShareLogs)
	}
	withheld := withholding{}
	err := withheld.lost(c.o.Server, x, maybeExecuted, &end)
	withheld.tell(c.o)
	return err
}

// brokenError returns the error for a call that the transport could not carry to its end while the
// server lives on. It says that the server was not reached, that the line was cut, that the server
// refused, or what was wrong with its answer.
func (c *Connection) brokenError(x *request.Exchange, in transport.Inbound) error {
	var status *streamable.StatusError
	cause := c.hosted(in.Err)
	answered := errors.As(in.Err, &status)
	_, obstacle := streamable.ObstacleOf(in.Err)
	if obstacle && !in.Written || answered && status.Gateway() ||
		!answered && (!in.Written || transport.IsConnectionLost(in.Err)) {
		return c.lostError(x, in.Written, cause)
	}
	e := protocol.UpstreamInvalid(c.o.Server, cause)
	switch {
	case answered && status.RetryLater():
		e = protocol.UpstreamUnavailable(c.o.Server, status.RetryAfter, cause)
	case answered && !in.Written:
		e.Message = "server " + strconv.Quote(c.o.Server) + " refused the request"
	}
	e.Message += ": " + telemetry.Clean(cause.Error(), protocol.MaxDetail)
	// e.Data is an object.
	e.Data, _ = jsonedit.Set(e.Data, jsontext.Value(strconv.FormatBool(in.Written)), "maybeExecuted")
	return e
}
