package catalog

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/storage"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Verb is what an operator does to a server.
type Verb string

// The verbs.
const (
	Restart    Verb = "restart"    // its connections begin anew, with what waits for them; pauses are forgotten. ErrPutAway refuses it
	Quarantine Verb = "quarantine" // its connections end, and none is started until it is released
	Release    Verb = "release"    // pauses and quarantine are forgotten: the next call starts it
)

// Verbs are all of them.
func Verbs() []Verb { return []Verb{Restart, Quarantine, Release} }

// ErrPutAway refuses the restart of a server that an operator has quarantined: whoever did that meant it to stay so until he says otherwise.
var ErrPutAway = errors.New("an operator has quarantined it")

// written says that a decision is in the store, or why it is not.
type written struct {
	call *Operate
	err  error
}

// operate does what an operator wants.
func (c *Catalog) operate(m *Operate) {
	s := c.servers[m.Req.Server]
	if s == nil || s.gone || !slices.Contains(Verbs(), m.Req.Verb) {
		m.Fail(protocol.EndpointNotFound())
		return
	}
	if m.Req.Verb == Restart && s.recovery.PutAway() {
		m.Fail(ErrPutAway)
		return
	}
	at := telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name, Incident: otp.IncidentID(c.p.Path()+"/"+s.config.Name, c.p.Now())}
	switch was := s.recovery.Forgive(); {
	case m.Req.Verb == Quarantine:
		c.putAway(s, at)
	case m.Req.Verb == Restart:
		c.o.Emit(telemetry.UpstreamRestarted{Where: at, Connections: telemetry.Count(len(s.conns))})
		c.restart(s, at.Incident)
		if was {
			c.released(s, byOperator)
		} else {
			c.allowed(s)
		}
	case was:
		c.released(s, byOperator)
	default:
		c.resume(s)
	}
	c.show(s)
	c.flush()
	if c.o.Storage == nil || c.o.Storage() == (otp.Ref{}) {
		c.written(written{call: m})
		return
	}
	to := c.noted(s)
	s.noted = to.Value != nil
	otp.CallAsync(c.p, c.o.Storage(), storage.PutRequest{Tenant: c.tenant.Name, Change: to}, func(_ struct{}, err error) any { return written{m, err} })
}

// written answers an operator.
func (c *Catalog) written(m written) {
	s := c.servers[m.call.Req.Server]
	switch {
	case m.err != nil:
		m.call.Fail(fmt.Errorf("it is done, but would not survive the host: %w", m.err))
	case s == nil:
		m.call.Fail(protocol.EndpointNotFound())
	default:
		m.call.Reply(s.record(c.p.Now()))
	}
}

// putAway ends all connections to a server.
func (c *Catalog) putAway(s *server, at telemetry.Where) {
	why := client.ByOperator(true, at.Incident)
	s.recovery.PutAwayFor(why, c.p.Now())
	c.tellQuarantined(s, s.keys(), why, 0)
	for key, conn := range order.By(s.conns, tenant.Key.Compare) {
		c.stop(s, key, conn, why)
	}
	for key := range order.By(s.opening, tenant.Key.Compare) { // what is started all the same ends when it has
		c.refuse(s, key, 0)
	}
	c.o.Emit(telemetry.UpstreamQuarantined{Where: at, Class: why.Class(), Cause: why.Text})
}

// restart has all connections to a server begin anew, each with its users and with what waits for it. Those of an earlier declaration end.
func (c *Catalog) restart(s *server, incident string) {
	why := client.ByOperator(false, incident)
	for key, conn := range order.By(s.conns, tenant.Key.Compare) {
		if !s.current(key) {
			c.stop(s, key, conn, why)
			continue
		}
		_ = c.p.Send(conn.ref, client.Restart{Why: why}) // one that is gone is gone
		begun := conn.report
		begun.Key, begun.State, begun.Cause = key, client.Starting, nil
		s.took(conn, &begun, c.p.Now())
	}
}

// stopTime is how long a connection has to end by itself. Were it ended from outside at once, its
// callers might not be told why.
const stopTime = 50 * time.Millisecond

// stop ends a connection at once.
func (c *Catalog) stop(s *server, key tenant.Key, conn *conn, why *client.Ending) {
	_ = c.p.Send(conn.ref, client.Stop{Why: why}) // one that is gone is gone
	c.drop(s, key)
	s.retiring[key] = true
	c.p.After(stopTime, ending{retiring{s.config.Name, key, s.sup}})
}
