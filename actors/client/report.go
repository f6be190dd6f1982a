package client

import (
	"errors"
	"strings"

	"mcpd/gateway/catalog"
	"mcpd/protocol/inflight"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Status is what the tree shows of a connection.
type Status struct {
	telemetry.UpstreamStatus
	Sessions int
	InFlight int
	ids      *inflight.Counter
	parked   bool
}

// Records yields how many sessions with the server are parked, 0 or 1.
func (s Status) Records(yield func(kind string, n int) bool) {
	n := 0
	if s.parked {
		n = 1
	}
	yield("parked_sessions", n)
}

// RequestIDUsage returns the share of the request ids that this connection has given out, from 0 to
// 1.
func (s Status) RequestIDUsage() float64 { return s.ids.Usage() }

// publish tells the tree and the catalogue the state of the connection.
func (c *Connection) publish(cause error, changed []catalog.Kind) {
	s := Status{
		UpstreamStatus: telemetry.UpstreamStatus{
			Tenant: c.o.Tenant, Server: c.o.Server, State: string(c.state), PID: c.info().PID,
			Waits: c.waitsFor(),
		},
		Sessions: c.clients.attached(), InFlight: c.calls.len(), ids: &c.ids, parked: c.parked != nil,
	}
	if c.facts.Version != 0 {
		s.Revision = c.facts.Version.String()
	}
	if cause == nil && c.state == Backoff { // a repeated report: it is the same absence
		cause = c.cause
	}
	facts, closed := c.facts, ""
	if c.state == Stopped {
		closed = c.closed
	}
	if c.parked != nil {
		facts = c.parked.facts
	}
	short := c.listing.short(c.facts)
	lacks := lacks(short)
	switch {
	case cause != nil:
		s.Ending = EndingOf(cause).Status()
	case closed != "":
		s.Ending = telemetry.Ending{Cause: closed}
	case c.state == Ready && lacks != "":
		s.State, s.Cause = string(Degraded), lacks
	}
	c.shown = s
	c.p.SetStatus(s)
	_ = c.p.Send(c.o.Catalog, &Report{
		Server: c.o.Server, Key: c.o.Key, From: c.p.Self(), Incarnation: c.p.Incarnation(),
		State: c.state, Cause: cause, Away: c.absence.away, GaveUp: c.gaveUp,
		Channel: c.info().Transport == transport.SSE, Early: c.early.WantsSession(), Lacks: lacks,
		Closed: closed, At: c.started, Facts: facts, Lists: c.listing.lists, Shortfalls: short,
		Changed: changed,
	})
}

// showWaits updates in the tree which sessions wait for which.
func (c *Connection) showWaits() {
	c.shown.Waits = c.waitsFor()
	c.p.SetStatus(c.shown)
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

// tellStarting, tellReady and tellEnded report the life of a connection to operators.
func (c *Connection) tellStarting() {
	at := c.where()
	at.Routine = !c.o.Known.markStarting(c.p.Self()) || c.fails.n > 0 // markStarting also counts it
	c.o.Emit(telemetry.UpstreamStarting{
		Where: at, Transport: c.o.Transport, Target: c.o.Target, Incarnation: c.p.Incarnation(),
	})
}

func (c *Connection) tellReady() {
	at := c.where()
	at.Routine = !c.o.Known.markReady(c.p.Self()) || c.retired // another takes its place
	e := telemetry.UpstreamReady{
		Where: at, PID: c.info().PID, Revision: c.facts.Version.String(),
		ServerInfo:  strings.TrimSpace(c.facts.Server.Name + " " + c.facts.Server.Version),
		Incarnation: c.p.Incarnation(), Start: c.p.Now().Sub(c.started),
	}
	if !c.lostAt.IsZero() {
		e.Down = c.p.Now().Sub(c.lostAt)
	}
	c.o.Emit(e)
}

// toldEnd is an error that a connection ends with. Terminate reports it with its cause, so that the
// supervision tree need not.
type toldEnd struct{ error }

func (e toldEnd) Unwrap() error { return e.error }

// Told says that an event of the row itself reports this end.
func (toldEnd) Told() bool { return true }

func (c *Connection) tellAsleep() {
	c.o.Emit(telemetry.UpstreamAsleep{Where: c.where(), PID: c.info().PID, Idle: c.o.Idle})
}

// tellReleased emits a debug event: many sessions may fall silent at the same time.
func (c *Connection) tellReleased() {
	c.o.Emit(telemetry.UpstreamClosed{Where: c.where(), Cause: c.closed})
}

func (c *Connection) tellEnded(end *Ending) {
	if c.asleep() { // that was reported
		return
	}
	at := c.where()
	news := c.remote() && c.o.Known.firstReport(unusableStatus(end))
	known := c.quiet && !news
	// The command of an operator was reported already.
	at.Incident, at.Routine = end.Incident, known || end.Cause == causeOperator
	c.quiet = c.remote()
	if c.state != Ready {
		changed := c.fails.add(end.Cause, c.p.Now())
		at.Routine = at.Routine || !changed && !c.remote() // all connections to a URL share an incident
		c.o.Emit(telemetry.UpstreamStartFailed{
			Where: at, Cause: end.Cause, Class: end.Class(), Reason: end.Text, Stderr: end.Stderr,
			Starts: c.fails.n,
		})
		return
	}
	e := telemetry.UpstreamExited{
		Where: at, PID: c.info().PID, Cause: end.Cause, Class: end.Class(),
		Incarnation: c.p.Incarnation(),
		InFlight:    uint32(c.written.Len()), Stderr: end.Stderr,
	}
	var exit *transport.ExitError
	if errors.As(end, &exit) {
		e.Exit = exit.Error()
	}
	c.o.Emit(e)
}
