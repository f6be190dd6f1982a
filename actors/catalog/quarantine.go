package catalog

import (
	"maps"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// ProbeWait is when those may come back who are refused because a probe is under way.
const ProbeWait = time.Second

// refused reports whether a connection is not handed out, why, and how long that lasts at least. What is quarantined is closed to all but
// the one who comes first after its pause: his call is the probe.
func (s *server) refused(key tenant.Key, caller Caller, now time.Time) (wait time.Duration, refused bool, why error) {
	if p := s.whole; p != nil && !p.operator {
		if conn := s.conns[key]; conn != nil && conn.report.State == client.Ready {
			return 0, false, nil // it began before, and works
		}
	}
	if wait, closed := s.away.closedBy(now); closed && s.conns[key] == nil && s.whole == nil {
		return wait, true, s.away.why
	}
	p := s.whole
	if p == nil {
		p = s.pauses[key]
	}
	switch wait := s.paused(key, now); {
	case p == nil:
		return 0, false, nil
	case p.operator:
		return 0, true, p.why
	case wait > 0 && (s.whole != nil || s.conns[key] == nil || p.quarantined() && p.down):
		return wait, true, s.why(caller)
	case p.quarantined() && p.down && s.probing(key):
		return ProbeWait, true, s.why(caller)
	}
	return 0, false, nil
}

// probing reports whether what is quarantined is being tried.
func (s *server) probing(key tenant.Key) bool {
	if s.whole != nil {
		return len(s.opening) > 0 || s.in[client.Starting]+s.in[client.Backoff]+s.in[""] > 0
	}
	p := s.pauses[key]
	return p != nil && p.quarantined() && (s.conns[key] != nil || len(s.opening[key]) > 0)
}

// quarantine leaves a server alone that cannot work for anybody.
func (c *Catalog) quarantine(s *server, why *client.Ending) {
	now := c.p.Now()
	p := s.whole
	switch {
	case p == nil:
		p = &pause{since: now, times: MaxGivenUp}
		s.whole = p
	case p.operator || p.until.After(now): // others have found the same at the same time
		return
	default:
		p.times++
	}
	wait := p.grow(why, now, c.o.Draw)
	if p.times == MaxGivenUp {
		c.tellQuarantined(s, s.keys(), why, wait)
	}
	c.o.Emit(telemetry.UpstreamQuarantined{
		Where: telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name, Incident: why.Incident},
		Class: why.Class(), Cause: why.Text, Stderr: why.Stderr, Retry: wait,
	})
	c.p.After(wait, retry{s.config.Name, tenant.Key{}})
	c.note(s)
}

// failedProbe ends a connection of which one failure is enough.
func (c *Catalog) failedProbe(s *server, key tenant.Key, why *client.Ending) {
	c.drop(s, key)
	c.retire(s, key)
	c.gaveUp(s, key, why)
}

// probed hears from a connection of a server that is quarantined, or may be, and reports whether it is at its end. One that is ready, or whose cause is
// not the one for which all of it was quarantined, ends that.
func (c *Catalog) probed(s *server, r *client.Report) (ended bool) {
	p := s.pauses[r.Key]
	switch {
	case r.State == client.Quarantined:
		c.quarantine(s, client.EndingFor(r.Key, r.Cause))
		return false
	case r.State == client.Starting:
		return false
	case s.whole != nil && !s.whole.operator && !r.At.Before(s.whole.until):
		s.whole = nil
		c.released(s, byProbe)
	}
	switch {
	case p == nil || !p.down:
		return false
	case r.State == client.Ready && p.quarantined():
		delete(s.pauses, r.Key)
		c.released(s, byProbe)
	case r.State == client.Ready:
		p.down = false
	case p.quarantined() && s.conns[r.Key] != nil && r.Cause != nil:
		c.failedProbe(s, r.Key, client.EndingFor(r.Key, r.Cause))
		return true
	}
	return false
}

// By what a quarantine ends.
const (
	byProbe    = "probe"
	byReload   = "reload"
	byOperator = "operator"
)

// released tells that a quarantine is over, and starts what sessions had used.
func (c *Catalog) released(s *server, by string) {
	c.o.Emit(telemetry.UpstreamReleased{Where: telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name}, By: by})
	c.tellBehind(s, s.keys())
	c.allowed(s)
}

// allowed stores that a server may be started, and starts what sessions had used.
func (c *Catalog) allowed(s *server) {
	c.note(s)
	if s.sup != (otp.Ref{}) {
		c.resume(s)
	}
}

// quarantinedFor reports whether the connection of a caller is quarantined, alone or with all of the server.
func (s *server) quarantinedFor(key tenant.Key) bool {
	p := s.pauses[key]
	return s.whole != nil || p != nil && p.quarantined() && p.down
}

// quarantines reports whether any part of a server is quarantined.
func (s *server) quarantines() bool {
	if s.whole != nil {
		return true
	}
	for p := range maps.Values(s.pauses) {
		if p.quarantined() {
			return true
		}
	}
	return false
}

// forgive forgets all that keeps connections from being started, and reports whether that was a quarantine.
func (s *server) forgive() (was bool) {
	was = s.quarantines()
	s.whole, s.cause, s.away = nil, nil, nil
	clear(s.causes)
	clear(s.pauses)
	return was
}
