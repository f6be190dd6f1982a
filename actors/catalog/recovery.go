package catalog

import (
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// LastDial is the longest pause between two dials of an unreachable URL.
const LastDial = recovery.LastDial

// Timer messages of the catalogue: pauses are over.
type (
	retry struct {
		server string
		key    tenant.Key
	}
	awayDue struct {
		server string
		times  uint64
	}
)

// applyRecovery passes an event of a connection to the recovery table, and performs the effects.
func (c *Catalog) applyRecovery(s *server, in recovery.Event) {
	name := s.config.Name
	for _, e := range s.recovery.Step(c.p.Now(), c.o.Jitter, in) {
		switch e.Do {
		case recovery.Quarantined:
			c.quarantined(s, e)
		case recovery.CrashLoop:
			c.o.Emit(telemetry.UpstreamCrashLoop{
				Where:    telemetry.Where{Tenant: c.tenant.Name, Server: name, Incident: e.Ending.Incident},
				Restarts: uint32(s.config.Intensity.Restarts), Within: s.config.Intensity.Within,
				Retry: e.Wait, Class: e.Ending.Class(), Cause: e.Ending.Text, Starts: e.Ending.Starts,
			})
		case recovery.Released:
			c.announceRelease(s, byProbe)
		case recovery.Retry:
			c.p.After(e.Wait, retry{name, e.Key})
		case recovery.Fail:
			c.drop(s, e.Key)
			c.retire(s, e.Key)
			c.applyRecovery(s, recovery.Event{Op: recovery.GiveUp, Key: e.Key, Ending: e.Ending})
		case recovery.Resume:
			c.resume(s)
		case recovery.Wait:
			c.p.After(e.Wait, awayDue{name, e.Times})
		default:
			c.directConnections(s, e)
		}
	}
}

// directConnections tells connections how to deal with an unreachable server. Connections that are
// gone are skipped.
func (c *Catalog) directConnections(s *server, e recovery.Effect) {
	for key, conn := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
		away, other := conn.report.Away, key != e.Key
		switch {
		case e.Do == recovery.Check && other && conn.report.State == client.Ready:
			_ = c.p.Send(conn.ref, client.Check{})
		case e.Do == recovery.Hold && !other, e.Do == recovery.HoldAll && away:
			_ = c.p.Send(conn.ref, client.Pause{For: e.Wait})
		case e.Do == recovery.Redial && other && away:
			_ = c.p.Send(conn.ref, client.Redial{})
		case e.Do == recovery.Dial && away && c.p.Send(conn.ref, client.Redial{}) == nil:
			s.recovery.SetProbe(key) // if there is no such connection, the next that is opened dials
			return
		}
	}
}

// pauseOver allows the start of a connection after its pause. It is started at once if sessions had
// used it, and otherwise when a caller asks for it. Until then the server keeps its state, unless
// the connection belonged to one session, which may be gone.
func (c *Catalog) pauseOver(m retry) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	c.resume(s)
	if m.key.Share == tenant.BySession && s.carried[m.key] == nil {
		s.recovery.HidePause(m.key, c.p.Now())
	}
	c.publishState(s)
}

// resume starts the connections that sessions had used, and those with eager start, as far as they
// may be started. Of a server that is quarantined as a whole, one connection is started, as the
// probe. A program that never completed its handshake, and has no subscriptions or held calls to
// restore, is started again only by a call.
func (c *Catalog) resume(s *server) {
	if s.sup == (otp.Ref{}) {
		return
	}
	for key, abandoned := range sortedmap.SortedBy(s.carried, tenant.Key.Compare) {
		idles := s.recovery.NeverReady(key) &&
			len(abandoned.URIs)+len(abandoned.Levels)+len(abandoned.Holds) == 0
		if !idles && !s.closed(key, c.p.Now()) {
			c.restore(s, key)
		}
	}
	c.eager(s)
}

// closed reports whether a connection must not be started.
func (s *server) closed(key tenant.Key, now time.Time) bool {
	return s.recovery.Closed(key, s.connState(key), now)
}

// connState describes a connection to the recovery table.
func (s *server) connState(key tenant.Key) recovery.Seen {
	conn, opening := s.conns[key], len(s.awaitingStart[key]) > 0
	return recovery.Seen{
		There: conn != nil, Ready: conn != nil && conn.report.State == client.Ready, Opening: opening,
		Trying: len(s.awaitingStart) > 0 || s.in[client.Starting]+s.in[client.Backoff]+s.in[""] > 0,
	}
}

// failureCause is the reason of a server's failure that a caller may be told. It is the cause that
// affects everyone, or else the end of the caller's own connection or of that of its lists. Either
// of these may contain output that the server wrote on the caller's behalf.
func (s *server) failureCause(caller Caller) error {
	if ending := s.recovery.Why(s.at(s.key(caller)), s.at(ListKey(s.config, caller))); ending != nil {
		return ending
	}
	return nil
}
