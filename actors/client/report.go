package client

import (
	"errors"
	"slices"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// Status is what the tree shows of a connection.
type Status struct {
	telemetry.UpstreamStatus
	Sessions int
	InFlight int
}

// publish tells the tree and the catalogue how things stand.
func (c *Connection) publish(cause error, changed []catalog.Kind) {
	s := Status{
		UpstreamStatus: telemetry.UpstreamStatus{
			Tenant: c.o.Tenant, Server: c.o.Server, State: string(c.state), PID: c.info().PID,
		},
		Sessions: len(c.sessions), InFlight: len(c.calls),
	}
	if c.facts.Version != 0 {
		s.Revision = c.facts.Version.String()
	}
	if cause != nil {
		s.Cause = Explain(cause)
	}
	c.p.SetStatus(s)
	_ = c.o.Catalog.Send(&Report{
		Server: c.o.Server, Key: c.o.Key, From: c.p.Self(), Incarnation: c.p.Incarnation(),
		State: c.state, Cause: cause, At: c.started, Facts: c.facts, Lists: c.lists, Changed: changed,
	})
}

// Explain says how a server ended, with the end of its standard error.
func Explain(cause error) string {
	text := telemetry.Clean(cause.Error(), protocol.MaxDetail)
	if tail := stderrOf(cause); tail != "" {
		text += "; stderr: " + tail
	}
	return text
}

func (c *Connection) info() transport.Info {
	if c.up == nil {
		return transport.Info{}
	}
	return c.up.Info()
}

func (c *Connection) where() telemetry.Where {
	return telemetry.Where{Tenant: c.o.Tenant, Server: c.o.Server, Path: c.p.Path()}
}

// tellStarting, tellReady and tellEnded are the story of a connection, as an operator reads it.
func (c *Connection) tellStarting() {
	c.o.Emit(telemetry.UpstreamStarting{
		Where: c.where(), Transport: c.o.Transport, Target: c.o.Target, Incarnation: c.p.Incarnation(),
	})
}

func (c *Connection) tellReady() {
	e := telemetry.UpstreamReady{
		Where: c.where(), PID: c.info().PID, Revision: c.facts.Version.String(),
		ServerInfo:  c.facts.Server.Name + " " + c.facts.Server.Version,
		Incarnation: c.p.Incarnation(), Start: c.p.Now().Sub(c.started),
	}
	if !c.lostAt.IsZero() {
		e.Down = c.p.Now().Sub(c.lostAt)
	}
	c.o.Emit(e)
}

func (c *Connection) tellEnded(err error) {
	var exit *transport.ExitError
	errors.As(err, &exit)
	stderr := stderrOf(err)
	if c.state != Ready {
		c.o.Emit(telemetry.UpstreamStartFailed{Where: c.where(), Cause: causeOf(err), Reason: err.Error(), Stderr: stderr})
		return
	}
	e := telemetry.UpstreamExited{
		Where: c.where(), PID: c.info().PID, Cause: causeOf(err), Incarnation: c.p.Incarnation(),
		InFlight: uint32(len(c.written)), Stderr: stderr,
	}
	if exit != nil {
		e.Exit = exit.Error()
	}
	c.o.Emit(e)
}

// causeOf is the class of an ending in a word or two.
func causeOf(err error) string {
	var exit *transport.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Cause
	case errors.Is(err, streamable.ErrSessionLost):
		return "session lost"
	}
	return "connection lost"
}

// permanentCauses are endings that starting again does not cure.
var permanentCauses = []string{stdio.CauseNotFound, stdio.CausePermission, stdio.CauseFormat}

// Permanent reports whether err says that the server cannot work as it is configured: the program is not there, or not a program.
func Permanent(err error) bool {
	var exit *transport.ExitError
	return errors.As(err, &exit) && slices.Contains(permanentCauses, exit.Cause)
}
