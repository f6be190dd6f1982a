package catalog

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/storage"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Verb is an operator's command for a server.
type Verb string

// The verbs.
const (
	// Restart restarts all connections; waiting calls are kept, and pauses are forgotten. It fails
	// with ErrOperatorQuarantine for a server that an operator has quarantined.
	Restart Verb = "restart"
	// Quarantine ends all connections. None is started until the server is released.
	Quarantine Verb = "quarantine"
	// Release ends pauses and quarantine. The next call starts the server.
	Release Verb = "release"
)

// Verbs lists all verbs.
func Verbs() []Verb { return []Verb{Restart, Quarantine, Release} }

// ErrOperatorQuarantine refuses the restart of a server that an operator has quarantined. Only a
// release ends that quarantine.
var ErrOperatorQuarantine = errors.New("an operator has quarantined it")

// commandStored is the result of storing a decision.
type commandStored struct {
	call *Operate
	err  error
}

// operate applies an operator's command.
func (c *Catalog) operate(m *Operate) {
	s := c.servers[m.Req.Server]
	if s == nil || s.unconfigured || !slices.Contains(Verbs(), m.Req.Verb) {
		m.Fail(protocol.EndpointNotFound())
		return
	}
	if m.Req.Verb == Restart && s.recovery.QuarantinedByOperator() {
		m.Fail(ErrOperatorQuarantine)
		return
	}
	at := telemetry.Where{
		Tenant: c.tenant.Name, Server: s.config.Name,
		Incident: otp.IncidentID(c.p.Path()+"/"+s.config.Name, c.p.Now()),
	}
	switch was := s.recovery.ClearFailures(); {
	case m.Req.Verb == Quarantine:
		c.quarantineByOperator(s, at)
	case m.Req.Verb == Restart:
		c.o.Emit(telemetry.UpstreamRestarted{Where: at, Connections: telemetry.Count(len(s.conns))})
		c.restart(s, at.Incident)
		if was {
			c.announceRelease(s, byOperator)
		} else {
			c.storeAndResume(s)
		}
	case was:
		c.announceRelease(s, byOperator)
	default:
		c.resume(s)
	}
	c.publishState(s)
	c.answerWaiters()
	if c.o.Storage == nil || c.o.Storage() == (otp.Ref{}) {
		c.onCommandStored(commandStored{call: m})
		return
	}
	to := c.quarantineChange(s)
	s.quarantineStored = to.Value != nil
	m.AnswerLater()
	otp.CallAsync(c.p, c.o.Storage(), storage.PutRequest{Tenant: c.tenant.Name, Change: to},
		func(_ struct{}, err error) any {
			return commandStored{m, err}
		})
}

// onCommandStored answers an operator.
func (c *Catalog) onCommandStored(m commandStored) {
	s := c.servers[m.call.Req.Server]
	switch {
	case m.err != nil:
		m.call.Fail(fmt.Errorf("it is done, but would not survive a restart of the host: %w", m.err))
	case s == nil:
		m.call.Fail(protocol.EndpointNotFound())
	default:
		m.call.Reply(s.record(c.p.Now()))
	}
}

// quarantineByOperator ends all connections to a server.
func (c *Catalog) quarantineByOperator(s *server, at telemetry.Where) {
	ending := client.EndedByOperator(true, at.Incident)
	s.recovery.QuarantineByOperator(ending, c.p.Now())
	c.tellQuarantined(s, s.keys(), ending, 0)
	for key, conn := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
		c.stop(s, key, conn, ending)
	}
	// Callers that wait for a start are refused now. A connection whose start succeeds later is ended
	// then.
	for key := range sortedmap.SortedBy(s.awaitingStart, tenant.Key.Compare) {
		c.refuse(s, key, 0)
	}
	c.o.Emit(telemetry.UpstreamQuarantined{Where: at, Class: ending.Class(), Cause: ending.Text})
}

// restart restarts all connections to a server, each with its users and waiting calls. Connections
// that were made under an earlier configuration of the server end.
func (c *Catalog) restart(s *server, incident string) {
	ending := client.EndedByOperator(false, incident)
	for key, conn := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
		if !s.current(key) {
			c.stop(s, key, conn, ending)
			continue
		}
		_ = c.p.Send(conn.ref, client.Restart{Why: ending}) // a connection that is gone needs no restart
		begun := conn.report
		begun.Key, begun.State, begun.Cause = key, client.Starting, nil
		s.noteReport(conn, &begun, c.p.Now())
	}
}

// stopTime is how long a connection may take to end by itself. If it were terminated at once, its
// callers might not be told the reason.
const stopTime = 50 * time.Millisecond

// stop ends a connection now.
func (c *Catalog) stop(s *server, key tenant.Key, conn *conn, ending *client.Ending) {
	_ = c.p.Send(conn.ref, client.Stop{Why: ending}) // a connection that is gone has ended
	c.drop(s, key)
	s.retiring[key] = true
	c.p.After(stopTime, endWorker{retiringRow{s.config.Name, key, s.sup}})
}
